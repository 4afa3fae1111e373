import { sleep } from '../../core/clock';
import { given } from '../../core/given';
import type { LogLevel } from '../../core/log-entry';
import { showTime } from '../../core/show-time';
import { printableJson } from '../../core/text';
import { type LeaseStore, StoreUnavailableError } from '../../lease/store';
import { type Subject, subjectOf } from '../../operator/subject';
import { progressText } from '../../operator/views/describe';
import { findRun, type FoundRun } from '../../operator/views/find-record';
import { inOrder, type LogPage, type LogRequest, readLog, type TokenedEntry } from '../../operator/views/read-log';
import { systemClock } from '../../system-clock';
import type { Options } from '../commands/command';
import { fileAtHand } from '../jobs-file';
import { OK, print, printJson, style, warn } from '../output';
import { openStore } from '../storage';
import { parseTime, type TimeOptions, zoneHere } from '../time';

interface LogsOptions extends Options {
  readonly follow?: boolean;
  readonly item?: number;
}

/** Handlers write every 2 s at most. */
const POLL_MS = 2_000;
const POLL_AFTER_TROUBLE_MS = 5_000;
const PAGE_BYTES = 4 * 1024 * 1024;

export async function logs(job: string, time: string | undefined, options: LogsOptions): Promise<number> {
  const timeIn = time === undefined ? undefined : parseTime(time, 'TIME');
  const store = openStore(options);
  const subject = await subjectOf(store, job, fileAtHand(options));
  const run = await findRun(store, subject.name, timeIn?.(subject.spec?.timeZone));
  return options.follow === true ? followLog(store, subject, run, options) : once(store, subject, run, options);
}

async function once(store: LeaseStore, { name }: Subject, run: FoundRun, options: LogsOptions): Promise<number> {
  const all: TokenedEntry[] = [];
  let page: LogPage | undefined;
  do {
    page = await readLog(store, name, run.key, { from: page?.next, ...requestOf(run, options) });
    all.push(...page.entries);
  } while (!page.ended && page.entries.length > 0);
  const entries = inOrder(all);
  warnOfItems(page);
  const { ended, progress } = page;
  if (options.json) return printJson({ job: name, runId: run.runId, ended, progress: progress ?? null, entries });
  const shown = lines(run, options);
  if (entries.length > 0) print(shown(entries));
  else print(`Run ${run.runId} has logged nothing${ended ? '' : ' so far'}.`);
  if (!ended) print(`\nThe run is in progress. To follow it:\n  cronlease logs ${name} --follow`);
  return OK;
}

/** Prints what the handler of a run says, until the run is over. */
export async function followLog(
  store: LeaseStore,
  { name }: Pick<Subject, 'name'>,
  run: FoundRun,
  options: LogsOptions,
): Promise<number> {
  const shown = lines(run, options);
  let from: string | undefined;
  let isWarned = false;
  const { progress } = await untilOver(async () => {
    const page = await readLog(store, name, run.key, { from, ...requestOf(run, options) });
    // Items may begin while they are followed.
    if (!isWarned) isWarned = warnOfItems(page);
    from = page.next;
    if (options.json) for (const entry of page.entries) print(printableJson(entry));
    else if (page.entries.length > 0) print(shown(page.entries));
    return page.ended ? page : undefined;
  });
  if (options.json) print(printableJson({ runId: run.runId, ended: true, progress: progress ?? null }));
  return OK;
}

/** Looks at a run until something is found, also while storage does not answer. */
export async function untilOver<T>(look: () => Promise<T | undefined>): Promise<T> {
  let isTroubled = false;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined) return found;
      isTroubled = false;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      if (!isTroubled) warn(`${error.message} It is called again until it answers.`);
      isTroubled = true;
    }
    await sleep(systemClock, isTroubled ? POLL_AFTER_TROUBLE_MS : POLL_MS);
  }
}

function requestOf({ isOver }: FoundRun, { item }: Pick<LogsOptions, 'item'>): Omit<LogRequest, 'from'> {
  return { isOver, item, bytes: PAGE_BYTES };
}

function warnOfItems({ leftOut }: LogPage): boolean {
  if (leftOut === 0) return false;
  warn(`${String(leftOut)} logs of items are left out: --item N shows those of one item`);
  return true;
}

/** Shows entries, page after page: a heading for the run, and for each attempt and day that begins. */
function lines({ runId }: FoundRun, options: TimeOptions): (entries: readonly TokenedEntry[]) => string {
  const zone = zoneHere(options);
  let token: number | undefined;
  let day: string | undefined;
  return (entries) =>
    entries
      .flatMap((entry) => {
        const instant = Date.parse(entry.at);
        const [date = '', time = ''] = showTime(instant, zone).split('T');
        const attempt = entry.item === undefined ? `attempt ${String(entry.attempt)}` : 'items';
        const what = token === undefined ? `run ${runId}` : entry.token !== token && attempt;
        const heading = [what, date !== day && `${date} ${zone}`].filter(Boolean).join(', ');
        token = entry.token;
        day = date;
        const clock = `${time.slice(0, 8)}.${entry.at.slice(20, 23)}`;
        return [...(heading === '' ? [] : [style('bold', heading)]), line(clock, entry)];
      })
      .join('\n');
}

const COLOURS: Readonly<Partial<Record<LogLevel, 'yellow' | 'red' | 'gray'>>> = {
  debug: 'gray',
  warn: 'yellow',
  error: 'red',
};

function line(clock: string, entry: TokenedEntry): string {
  const item = entry.item === undefined ? '' : `item ${String(entry.item)}: `;
  if ('progress' in entry) {
    const { note, ...progress } = entry.progress;
    const text = progressText({ ...progress, ...given({ note: note && withoutColours(note) }) });
    return `${clock}        ${item}${text}`;
  }
  if ('gap' in entry) {
    const { lines } = entry.gap;
    const missing = lines === 1 ? '1 line is missing' : `${String(lines)} lines are missing`;
    return `${clock}        ${item}(${missing}: more was logged than is kept)`;
  }
  if ('error' in entry) return `${clock} ${style('red', 'error')}  ${indented(entry.error)}`;
  const level = entry.level.padEnd(5);
  const colour = COLOURS[entry.level];
  return `${clock} ${colour === undefined ? level : style(colour, level)}  ${item}${indented(entry.text)}`;
}

/** Further lines of a text stand below its beginning, so that they cannot be taken for lines of the log. */
function indented(text: string): string {
  return withoutColours(text)
    .replaceAll('\r\n', '\n')
    .replaceAll('\n', `\n${' '.repeat(20)}`);
}

/** Colours of a terminal are left out. Any other control character is printed as an escape. */
function withoutColours(text: string): string {
  // oxlint-disable-next-line no-control-regex -- colours begin with one
  return text.replaceAll(/\u001b\[[\d;]*m/g, '');
}
