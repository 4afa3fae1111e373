import Anser from 'anser';
import { Fragment } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { changed, param } from '../data/address';
import { type FollowedLog, type LogEntry, useLog } from '../data/follow-log';
import { now } from '../data/live';
import { exactTime, fullTime, zoneOf } from '../data/time';
import { plural } from '../data/words';
import { FailureLine } from './help';
import { Link, Notice, Select, Skeleton } from './parts';
import { chosenItem } from './run-items';

/** The colours that have a class in style.css. */
const COLORS = /^ansi-(bright-)?(black|red|green|yellow|blue|magenta|cyan|white)$/;

interface LogProps {
  readonly runId: string;
  readonly zone: string | null;
  /** Whether the run is in progress. */
  readonly isOpen: boolean;
  /** The progress of its orchestration. */
  readonly progress?: FollowedLog['progress'] | undefined;
  /** The items of a fan-out that have ended. */
  readonly items?: readonly number[] | undefined;
}

export function Log({ progress = null, ...props }: LogProps) {
  const log = useLog(props.runId, chosenItem());
  const latest = log.progress ?? progress;
  return (
    <section>
      {props.isOpen && latest !== null && <ProgressBar {...latest} />}
      {log.failure !== undefined && log.failure.status !== 404 && (
        <FailureLine failure={log.failure} before="The log is not up to date: " />
      )}
      <Entries {...props} log={log} />
    </section>
  );
}

function Entries(props: LogProps & { readonly log: FollowedLog }) {
  const { isOpen, items = [], log } = props;
  const { entries, failure } = log;
  if (entries === undefined && failure === undefined) {
    return (
      <>
        <h2>Log</h2>
        <Skeleton rows={3} what="log" />
      </>
    );
  }
  if (entries !== undefined && entries.length > 0) return <Lines {...props} entries={entries} />;
  return (
    <>
      <div class="section-head">
        <h2>Log</h2>
        <ItemSelect entries={[]} items={items} />
      </div>
      <Notice title={isOpen ? 'Its handler has not logged anything yet' : 'Its handler logged nothing'}>
        <p>Lines of ctx.log appear here, unless the job has "logs": "none".</p>
      </Notice>
    </>
  );
}

function ProgressBar({ note, fraction }: NonNullable<FollowedLog['progress']>) {
  return (
    <label class="progress foreign">
      {percentOf(fraction)}
      {note ?? 'Progress'}
      {fraction !== undefined && <progress value={fraction} max={1} />}
    </label>
  );
}

function percentOf(fraction: number | undefined): string {
  return fraction === undefined ? '' : `${String(Math.round(fraction * 100))} % `;
}

interface LinesProps extends LogProps {
  readonly log: FollowedLog;
  readonly entries: readonly LogEntry[];
}

function Lines({ runId, zone, log, entries, isOpen, items = [] }: LinesProps) {
  const [wrap, setWrap] = useState(true);
  const { box, follows, jump, onScroll } = useFollowing(entries.length, isOpen);
  const { field, chosen } = useFind(entries);
  const linked = param('line');
  // It may come with a later page of the log.
  const hasCome = linked !== undefined && entries.some((entry) => idOf(entry) === linked);
  useEffect(() => {
    const id = chosen === undefined ? linked : idOf(chosen);
    if (id !== undefined) document.getElementById(`line-${id}`)?.scrollIntoView({ block: 'nearest' });
  }, [chosen, linked, hasCome]);
  return (
    <>
      <div class="section-head">
        <h2>Log</h2>
        <div class="line">
          <ItemSelect entries={entries} items={items} />
          {field}
          <label class="check">
            <input type="checkbox" checked={wrap} onChange={({ currentTarget }) => setWrap(currentTarget.checked)} />{' '}
            Wrap
          </label>
          <button type="button" onClick={() => download(runId, entries)}>
            Download
          </button>
          {isOpen && (
            <button type="button" onClick={jump} disabled={follows}>
              {follows ? 'Following' : 'Follow'}
            </button>
          )}
        </div>
      </div>
      {/* The box scrolls, so that the keyboard must reach it. */}
      <div
        class={`panel log ${wrap ? 'wrap' : ''}`}
        ref={box}
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-label="Log"
        aria-live="off"
      >
        <ol>
          {entries.map((entry, index) => (
            <Fragment key={index}>
              {index > 0 && entry.token !== entries[index - 1]?.token && (
                <li class="next-attempt">{entry.item === undefined ? `Attempt ${String(entry.attempt)}` : 'Items'}</li>
              )}
              <Line
                entry={entry}
                zone={zone}
                mark={entry === chosen || (linked !== undefined && idOf(entry) === linked)}
              />
            </Fragment>
          ))}
        </ol>
      </div>
      {log.leftOut > 0 && (
        <p class="muted">The logs of {plural(log.leftOut, 'more item')} are not shown: choose one to read its log.</p>
      )}
    </>
  );
}

function ItemSelect({ entries, items }: { readonly entries: readonly LogEntry[]; readonly items: readonly number[] }) {
  const all = new Set([...items, chosenItem() ?? [], ...entries.map(({ item = [] }) => item)].flat());
  if (all.size === 0) return null;
  const options = [...all].sort((a, b) => a - b).map((one) => [String(one), `Item ${String(one)}`] as const);
  return <Select name="item" label="Lines of" options={[['', 'All lines'], ...options]} />;
}

/** A field to find entries. Enter goes to the next hit, and Shift+Enter to the one before. */
function useFind(entries: readonly LogEntry[]) {
  const [query, setQuery] = useState('');
  const [hit, setHit] = useState(0);
  const wanted = query.toLowerCase();
  const hits = wanted === '' ? [] : entries.filter((entry) => textOf(entry).toLowerCase().includes(wanted));
  const place = hits.length === 0 ? 'none' : `${String((hit % hits.length) + 1)} of ${String(hits.length)}`;
  const field = (
    <>
      <input
        type="search"
        aria-label="Find in the log"
        placeholder="Find"
        value={query}
        onInput={({ currentTarget: { value } }) => {
          setQuery(value);
          setHit(0);
        }}
        onKeyDown={({ key, shiftKey }) => {
          if (key === 'Enter' && hits.length > 0) setHit((hit + (shiftKey ? hits.length - 1 : 1)) % hits.length);
        }}
      />
      <span class="count muted" role="status">
        {query === '' ? '' : place}
      </span>
    </>
  );
  return { field, chosen: hits[hit % Math.max(1, hits.length)] };
}

/** Stays at the end while the run is in progress, until it is scrolled away. */
function useFollowing(count: number, isOpen: boolean) {
  const box = useRef<HTMLDivElement>(null);
  const [follows, setFollows] = useState(true);
  useLayoutEffect(() => {
    const { current } = box;
    if (current !== null && isOpen && follows) current.scrollTop = current.scrollHeight;
  }, [count, isOpen, follows]);
  return {
    box,
    follows,
    jump: () => setFollows(true),
    onScroll() {
      const { current } = box;
      if (current !== null) setFollows(current.scrollHeight - current.scrollTop - current.clientHeight < 24);
    },
  };
}

/** Names a line in an address: its attempt's token and its number there. */
function idOf({ token, item, n, text }: LogEntry): string | undefined {
  return text === undefined ? undefined : [token, ...(item === undefined ? [] : [item]), n].join('.');
}

function textOf({ text, gap, progress, error }: LogEntry): string {
  if (text !== undefined) return text;
  if (error !== undefined) return error;
  if (gap !== undefined) return `${plural(gap.lines, 'line')} missing: more than is kept`;
  const { note = '', fraction } = progress ?? {};
  return `progress ${percentOf(fraction)}${note}`;
}

interface LineProps {
  readonly entry: LogEntry;
  readonly zone: string | null;
  readonly mark: boolean;
}

function Line({ entry, zone, mark }: LineProps) {
  const { n, at, text, attempt, item, error } = entry;
  const level = error === undefined ? entry.level : 'error';
  const id = idOf(entry);
  const instant = Date.parse(at);
  return (
    <li
      id={id === undefined ? undefined : `line-${id}`}
      class={`${text === undefined && error === undefined ? 'aside-line' : (level ?? '')} ${mark ? 'marked' : ''}`}
    >
      {id === undefined ? (
        <span class="n" />
      ) : (
        <Link
          class="n"
          href={changed({ line: id })}
          title={`Attempt ${String(attempt)}${item === undefined ? '' : `, item ${String(item)}`}: a link to this line`}
          replace
        >
          {n}
        </Link>
      )}
      <time dateTime={at} title={Number.isNaN(instant) ? at : fullTime(instant, 'UTC')}>
        {Number.isNaN(instant) ? '' : exactTime(instant, zoneOf(zone), now.peek())}
      </time>
      <span class="level">{level === undefined || level === 'info' ? '' : level}</span>
      <span class="said foreign">
        {item !== undefined && <span class="item">item {item}</span>}
        <TerminalText text={textOf(entry)} />
      </span>
    </li>
  );
}

function download(runId: string, entries: readonly LogEntry[]): void {
  const lines = entries.map((entry) => {
    const item = entry.item === undefined ? '' : `item ${String(entry.item)}: `;
    return `${entry.at} ${entry.level ?? ''}\t${item}${textOf(entry)}\n`;
  });
  const url = URL.createObjectURL(new Blob(lines, { type: 'text/plain' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${runId}.log`;
  link.click();
  URL.revokeObjectURL(url);
}

/** Text with terminal colours: as text in elements with classes, whatever it contains. */
function TerminalText({ text }: { readonly text: string }) {
  if (!text.includes('\u001B')) return <>{text}</>;
  const parts = Anser.ansiToJson(text, { json: true, use_classes: true, remove_empty: true });
  return (
    <>
      {parts.map(({ content, fg, decorations }, index) => (
        <span
          key={index}
          class={[COLORS.test(fg ?? '') ? fg : '', decorations.includes('bold') ? 'bold' : ''].join(' ')}
        >
          {content}
        </span>
      ))}
    </>
  );
}
