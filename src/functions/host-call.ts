import type { LogLevel } from '../core/log-entry';
import type { HostCall, LevelLog } from './report';

/** The most lines that wait for the next call. Older ones are dropped. */
const MOST_LATE = 200;

/** What was said by work that has outlived its call: a notice on its way, or a handler that ignores its signal. */
export type LateLines = { readonly level: LogLevel; readonly message: readonly unknown[] }[];

/**
 * Does the work of one call of the host. The host loses, or complains about, a line that is written after its call has
 * ended: such lines wait for the next call.
 */
export async function duringCall<Result>(
  call: HostCall,
  late: LateLines,
  work: (open: HostCall) => Promise<Result>,
): Promise<Result> {
  let isOver = false;
  const { invocationId, traceContext } = call;
  const at =
    (level: LogLevel) =>
    (...message: unknown[]): void => {
      if (!isOver) call[level](...message);
      else if (late.push({ level, message }) > MOST_LATE) late.shift();
    };
  const levels: LevelLog = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  for (const { level, message } of late.splice(0)) levels[level](...message);
  try {
    return await work({ ...levels, invocationId, traceContext });
  } finally {
    isOver = true;
  }
}
