import { given } from '../../core/given';
import { pathOf } from '../../client/operations';
import { useEffect, useState } from 'preact/hooks';
import type { AuditQuery } from '../../client';
import { pageOf, param, hoursOf } from '../data/address';
import { now } from '../data/live';
import type { Audit } from '../../client/types';
import { Badge, Exact, Link, Notice, OlderPages, SearchBox, Table, Warnings } from '../parts/parts';
import { Choice, CHANNELS, HOURS } from '../parts/run-filters';
import { useLive } from '../data/use-live';
import type { Label } from '../data/words';
import { NotYet } from '../parts/help';

type Entry = Audit['entries'][number];

/** A search is made once there was no typing for so long: it may list 1,000 changes. */
const TYPED_MS = 300;

const ACTIONS: Readonly<Record<NonNullable<AuditQuery['action']>, string>> = {
  run: 'runs',
  rerun: 'runs again',
  backfill: 'back-fills',
  cancel: 'cancellations',
  pause: 'pauses',
  resume: 'ends of pauses',
  maintenance: 'ends of maintenance',
  ack: 'acknowledgements',
  unack: 'acknowledgements taken back',
  cordon: 'cordons',
  uncordon: 'cordons lifted',
  unlock: 'leases broken',
  forget: 'jobs forgotten',
  recover: 'repairs after a failover',
  shards: 'shards',
};

/** Changes whose target is not a job. */
const OF_SEVERAL: ReadonlySet<string> = new Set(['maintenance', 'recover', 'shards']);

const LABELS: Readonly<Record<Entry['state'], Label>> = {
  done: { word: 'Done', icon: 'check', tone: 'good' },
  refused: { word: 'Refused', icon: 'slash', tone: 'off' },
  begun: { word: 'Begun', icon: 'alert', tone: 'warn' },
};

export function AuditPage() {
  const [openedAt] = useState(() => now.peek());
  const cursor = param('cursor');
  const hours = hoursOf(param('hours'));
  const wanted = given({
    q: useSettled(param('q')),
    action: param('action'),
    channel: param('channel'),
    since: hours === undefined ? undefined : new Date(openedAt - hours * 3_600_000).toISOString(),
  });
  const query = new URLSearchParams({ limit: '50', ...wanted, ...given({ cursor }) });
  const { body, failure } = useLive(`${pathOf('listAudit')}?${query.toString()}`);
  return (
    <>
      <div class="title">
        <h1>Changes</h1>
        <div class="narrow">
          <SearchBox of="changes" />
        </div>
      </div>
      <div class="line filters">
        <Choice filter="hours" label="When the changes were made" all="Any time" options={HOURS} />
        <Choice filter="action" label="What was changed" all="All changes" options={Object.entries(ACTIONS)} />
        <Choice
          filter="channel"
          label="From where it was changed"
          all="From anywhere"
          options={Object.entries(CHANNELS).filter(([channel]) => channel !== 'schedule')}
        />
      </div>
      {body === undefined ? (
        <NotYet failure={failure} what="changes" rows={10} />
      ) : (
        <Loaded audit={body as Audit} isFirst={cursor === undefined} isSearch={Object.keys(wanted).length > 0} />
      )}
    </>
  );
}

/** The text, once it has not changed for a moment. */
function useSettled(text: string | undefined): string | undefined {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

function Loaded({
  audit: { entries, problems, cursor },
  isFirst,
  isSearch,
}: {
  readonly audit: Audit;
  readonly isFirst: boolean;
  readonly isSearch: boolean;
}) {
  return (
    <>
      <Warnings texts={problems} />
      {entries.length === 0 ? (
        <Notice
          title={
            isSearch
              ? cursor === null
                ? 'No change matches'
                : 'No change matches so far'
              : isFirst
                ? 'No changes yet'
                : 'There are no older changes'
          }
        >
          <p>Whatever a person or a key changes is recorded here: who, when, from where, and why.</p>
        </Notice>
      ) : (
        <Table name="Changes" kind="changes" columns={[['When'], ['Who'], ['What'], ['Why']]}>
          {entries.map((entry) => (
            <Row key={entry.id} entry={entry} />
          ))}
        </Table>
      )}
      <OlderPages cursor={cursor} of="changes" />
    </>
  );
}

function Row({ entry }: { readonly entry: Entry }) {
  const { at, actor, identity, proven, channel, note, action, target, state, before, after } = entry;
  const isOfJob = !action.includes('cordon') && !OF_SEVERAL.has(action);
  return (
    <tr role="row">
      <td role="cell">
        <Exact at={at} zone={null} />
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
