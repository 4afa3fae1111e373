import type { Clock } from '../core/clock';
import { oneLine } from '../core/text';
import { addressOf } from './caller-address';
import type { RequestError } from './problem';

/** The most lines a minute. All refusals are counted. */
const LINES_A_MINUTE = 20;

/** A request, as far as its refusal names it. */
interface Sent {
  readonly method: string;
  /** Undefined: it cannot be read. */
  readonly path: string | undefined;
  readonly header: (name: string) => string | undefined;
  readonly reportRefusal: (line: string) => void;
}

/** Counts the requests that are refused, and logs them. */
export function createRefusals(clock: Clock): (sent: Sent, error: RequestError) => void {
  let count = 0;
  let minute = { since: -Infinity, lines: 0 };
  return (sent, { status, code }) => {
    count += 1;
    if (clock.monotonic() - minute.since >= 60_000) minute = { since: clock.monotonic(), lines: 0 };
    minute.lines += 1;
    if (minute.lines > LINES_A_MINUTE) return;
    const last = minute.lines === LINES_A_MINUTE ? '; no more lines this minute' : '';
    const what = oneLine(`${sent.method.slice(0, 10)} ${sent.path?.slice(0, 100) ?? '(a path that cannot be read)'}`);
    const from = addressOf(sent.header);
    sent.reportRefusal(
      `refused ${String(status)} ${code}: ${what} from ${from}, ${String(count)} since the start${last}`,
    );
  };
}
