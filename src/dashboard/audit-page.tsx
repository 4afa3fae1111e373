import type { JSX } from 'preact';
import { changed, pageOf, param } from './address';
import type { Audit } from './model';
import { Badge, Exact, Link, Notice, sentence, Skeleton } from './parts';
import { FailureNotice } from './failure-notice';
import { SearchBox } from './search-box';
import { useLive } from './use-live';
import type { Label } from './words';

type Entry = Audit['entries'][number];

/** So many changes a search looks through at once. */
const SEARCHED = 200;

const LABELS: Readonly<Record<Entry['state'], Label>> = {
  done: { word: 'Done', icon: 'check', tone: 'good' },
  refused: { word: 'Refused', icon: 'slash', tone: 'off' },
  begun: { word: 'Begun', icon: 'alert', tone: 'warn' },
};

/** What people changed, the newest first. */
export function AuditPage(): JSX.Element {
  const cursor = param('cursor');
  const words = wordsOf(param('q'));
  const limit = words.length === 0 ? 50 : SEARCHED;
  const { body, failure } = useLive(
    `audit?${new URLSearchParams({ limit: String(limit), ...(cursor === undefined ? {} : { cursor }) }).toString()}`,
  );
  return (
    <>
      <div class="title">
        <h1>Changes</h1>
        {words.length > 0 && <p class="muted">those of {SEARCHED} that match</p>}
        <div class="narrow">
          <SearchBox of="changes" />
        </div>
      </div>
      {body === undefined ? (
        failure === undefined ? (
          <Skeleton rows={10} what="changes" />
        ) : (
          <FailureNotice failure={failure} what="The changes" />
        )
      ) : (
        <Loaded audit={found(body as Audit, words)} isFirst={cursor === undefined} isSearch={words.length > 0} />
      )}
    </>
  );
}

function wordsOf(query = ''): readonly string[] {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

/** The changes that have each word in their actor, channel, action, job, state or note. */
function found(audit: Audit, words: readonly string[]): Audit {
  const entries = audit.entries.filter(({ actor, channel, action, target, state, note }) => {
    const text = [actor, channel, action, target, state, note ?? ''].join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return { ...audit, entries };
}

function Loaded({
  audit: { entries, problems, cursor },
  isFirst,
  isSearch,
}: {
  readonly audit: Audit;
  readonly isFirst: boolean;
  readonly isSearch: boolean;
}): JSX.Element {
  return (
    <>
      {problems.map((problem) => (
        <p key={problem} class="warn foreign">
          {sentence(problem)}
        </p>
      ))}
      {entries.length === 0 ? (
        <Notice
          title={
            isSearch ? 'No change matches' : isFirst ? 'Nobody has changed anything yet' : 'There are no older changes'
          }
        >
          <p>Whatever a person or a key changes is recorded here: who, when, from where, and why.</p>
        </Notice>
      ) : (
        <div class="table slim changes">
          <table role="table" aria-label="Changes">
            <thead role="rowgroup">
              <tr role="row">
                {['When', 'Who', 'What', 'Why'].map((heading) => (
                  <th key={heading} role="columnheader" scope="col">
                    {heading}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody role="rowgroup">
              {entries.map((entry) => (
                <Row key={entry.id} entry={entry} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {(cursor !== null || !isFirst) && (
        <nav class="pages" aria-label="Pages of changes">
          {isFirst ? <span /> : <Link href={changed({ cursor: undefined })}>Newest changes</Link>}
          {cursor !== null && <Link href={changed({ cursor })}>Older changes</Link>}
        </nav>
      )}
    </>
  );
}

function Row({ entry }: { readonly entry: Entry }): JSX.Element {
  const { at, actor, identity, proven, channel, note, action, target, state, before, after } = entry;
  const isOfJob = !action.includes('cordon');
  return (
    <tr role="row">
      <td role="cell">
        <Exact at={at} />
        <span class="second">
          <Badge label={LABELS[state]} />
        </span>
      </td>
      <td role="cell" class="foreign">
        {actor}
        <span class="second">
          by {channel}
          {!proven && ', unproven'}
        </span>
        {identity !== null && <span class="second">{identity}</span>}
      </td>
      <td role="cell" class="foreign">
        {action} {isOfJob ? <Link href={pageOf({ job: target })}>{target}</Link> : target}
        {(before !== undefined || after !== undefined) && (
          <details>
            <summary>before and after</summary>
            <pre>{JSON.stringify({ before, after }, undefined, 2)}</pre>
          </details>
        )}
      </td>
      <td role="cell" class="foreign">
        {note}
      </td>
    </tr>
  );
}
