import {
  type CallSpec,
  LONGEST_POLL_WAIT_MS,
  type ReadSetting,
  hostText,
  isFilledBy,
  isHeaderValue,
  isTemplate,
  originOf,
  placesIn,
  textsOf,
  withSettings,
} from '../core/call';
import { formatDuration } from '../core/duration';
import { MASK } from '../core/redact';
import { looksSecret, maskSecrets } from '../core/secrets';
import { checkIntegers } from './check-input';
import type { CheckedJob } from './checked-job';
import type { Path } from './config-error';

/** Each call is sent with these, or the connection itself needs them. */
export const OWN_HEADER =
  /^(?:idempotency-key|traceparent|x-cronlease-.*|host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect)$/i;
const HEADER_NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/;
const TEMPLATES = '{scheduledFor}, {scheduledFor:date}, {runId}, {attempt}, {token} or {input.NAME}';

/** What a start knows of the app beside the file. */
export interface CallSurroundings {
  readonly readSetting: ReadSetting;
  /** Undefined: the host of this address may be called. */
  readonly whyForbidden: (address: URL) => string | undefined;
}

/** Checks what the schema cannot, and without the app's settings. */
export function checkCall({ path, settings, given, wrong, report }: CheckedJob): void {
  const { call, handler, schedule, input } = settings;
  if (call === undefined) return;
  const place = [...path, 'call'];
  if (handler !== undefined && given.has('handler')) {
    report.error([...path, 'handler'], 'cannot be used with "call", which takes its place', 'leave one of them out');
  }
  if (schedule?.kind === 'always') {
    report.error(place, 'cannot be used: @always is a leader job, and a call ends', 'give the job due times');
  }
  if (settings.stallAfter !== undefined && settings.stallAfter <= LONGEST_POLL_WAIT_MS) {
    const waits = `an operation is polled every 10s growing to ${formatDuration(LONGEST_POLL_WAIT_MS)}`;
    report.warning([...path, 'stallAfter'], `ends operations that are at work: ${waits}`, 'must be more, or left out');
  }
  checkAddress(call, place, report);
  checkHeaders(call, place, report);
  checkIntegers(call.body, [...place, 'body'], report);
  if (call.body !== undefined && (call.method === 'GET' || call.method === 'HEAD')) {
    report.error([...place, 'body'], `cannot be sent by ${call.method}`, 'leave it out, or use another method');
  }
  for (const { path: at, text } of textsOf(call)) {
    for (const template of placesIn(text).templates) {
      if (at[0] === 'identity' || !isTemplate(template)) {
        const remedy = at[0] === 'identity' ? 'must be the audience, or %NAME% of an app setting' : `use ${TEMPLATES}`;
        report.error([...place, ...at], `has {${template}}, which is not a template here`, remedy);
      } else if (schedule?.kind !== 'manual' && !wrong.has('input') && !isFilledBy(template, input)) {
        report.error(
          [...place, ...at],
          `has {${template}}, and the job's input has no such member`,
          'add it to "input"',
        );
      }
    }
  }
}

function checkAddress({ url }: CallSpec, place: Path, report: CheckedJob['report']): void {
  const at = [...place, 'url'];
  if (placesIn(hostText(url)).templates.length > 0) {
    report.error(at, 'has a template in its host', 'must be the host, or %NAME% of an app setting');
    return;
  }
  const origin = originOf({ url: url.startsWith('%') ? url.replace(/^%\w+%/, 'https://x') : url }, () => 'x');
  const { protocol, username, password } = origin ?? {};
  const written = url.replaceAll(/%\w+%|\{[^}]*\}/g, '');
  if (origin === undefined || (protocol !== 'https:' && protocol !== 'http:')) {
    report.error(at, 'is not an address', 'must be such as "https://billing.example.com/api/close"');
  } else if (username !== '' || password !== '') {
    report.error(at, 'has a user name', 'send it in a header, as %NAME% of an app setting');
  } else if (maskSecrets(written) !== written) {
    report.warning(at, ...SECRET, MASK);
  }
}

const SECRET = [
  'looks as if it had a secret: jobs.json is kept with the source, and the dashboard shows it',
  'keep it in an app setting or Key Vault: the text must be %NAME%',
] as const;

function checkHeaders({ headers, identity }: CallSpec, place: Path, report: CheckedJob['report']): void {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const at = [...place, 'headers', name];
    const key = name.toLowerCase();
    if (!HEADER_NAME.test(name)) report.error(at, 'has a name that no header can have', 'use letters, digits and -');
    else if (OWN_HEADER.test(name)) report.error(at, 'is a header that cronlease sets', 'leave it out');
    else if (key === 'authorization' && identity !== undefined) {
      report.error(at, 'is a header that "identity" sets', 'leave one of them out');
    } else if (seen.has(key)) report.error(at, 'is here twice, in other letters', 'leave one of them out');
    else if (!isHeaderValue(value)) {
      report.error(at, 'has characters that no header can hold', 'encode them');
    } else if (looksSecret(name, value)) report.warning(at, ...SECRET, MASK);
    seen.add(key);
  }
}

/** Checks a call by the settings of its app. Their values are in no message. */
export function checkCallHere(
  call: CallSpec,
  name: string,
  { readSetting, whyForbidden }: CallSurroundings,
  report: CheckedJob['report'],
): void {
  const place = ['jobs', name, 'call'];
  let isComplete = true;
  for (const { path, text } of textsOf(call)) {
    for (const setting of placesIn(text).settings.filter((one) => !readSetting(one))) {
      const remedy = 'set it in this app, or correct its name';
      report.error([...place, ...path], `names the app setting ${setting}, which is not set`, remedy);
      isComplete = false;
    }
    if (path[0] === 'headers' && !isHeaderValue(withSettings(text, readSetting))) {
      report.error([...place, ...path], 'names an app setting with characters that no header can hold', 'correct it');
    }
  }
  if (!isComplete) return;
  const origin = originOf(call, readSetting);
  if (origin === undefined) {
    report.error([...place, 'url'], 'is not an address with its app settings filled in', 'correct the settings');
    return;
  }
  const why = whyForbidden(origin);
  if (why === undefined) return;
  const isSetting = placesIn(hostText(call.url)).settings.length > 0;
  report.error([...place, 'url'], 'must not be called', isSetting ? why.replaceAll(origin.hostname, '…') : why);
}
