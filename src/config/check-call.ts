import {
  type CallSpec,
  type CallSurroundings,
  type CallText,
  LONGEST_POLL_WAIT_MS,
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
import { MASK, looksSecret, maskSecrets } from '../core/redact';
import { checkIntegers } from './check-input';
import type { CheckedJob } from './checked-job';
import type { Path } from './config-error';

/** Each call is sent with these, or the connection itself needs them. */
export const OWN_HEADER =
  /^(?:idempotency-key|traceparent|x-cronlease-.*|host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect)$/i;
const HEADER_NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/;
const TEMPLATES = '{scheduledFor}, {scheduledFor:date}, {runId}, {attempt}, {token} or {input.NAME}';

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
  const refuse = refuser(place, report);
  for (const text of textsOf(call)) {
    for (const template of placesIn(text.text).templates) {
      const isIdentity = text.path[0] === 'identity';
      if (isIdentity || !isTemplate(template)) {
        const remedy = isIdentity ? 'must be the audience, or %NAME% of an app setting' : `use ${TEMPLATES}`;
        refuse(text, `has {${template}}, which is not a template here`, remedy);
      } else if (schedule?.kind !== 'manual' && !wrong.has('input') && !isFilledBy(template, input)) {
        refuse(text, `has {${template}}, and the job's input has no such member`, 'add it to "input"');
      }
    }
  }
}

type Refuse = (text: CallText, message: string, remedy: string) => void;

/** No text is searched for secrets beyond this: an error shows less, and the search takes quadratic time. */
const SEARCHED = 1_000;

/** Reports errors about the texts of a call. One that looks as if it had a secret is shown without it. */
function refuser(place: Path, report: CheckedJob['report']): Refuse {
  return ({ path, text }, message, remedy) => {
    const [member, name] = path;
    const isSecret = member === 'headers' && looksSecret(String(name), text);
    const value = isSecret ? MASK : maskSecrets(text.slice(0, SEARCHED));
    report.addErrors(1, () => [{ path: [...place, ...path], value, message, remedy }]);
  };
}

function checkAddress({ url }: CallSpec, place: Path, report: CheckedJob['report']): void {
  const at = { path: ['url'], text: url };
  const refuse = refuser(place, report);
  if (placesIn(hostText(url)).templates.length > 0) {
    refuse(at, 'has a template in its host', 'must be the host, or %NAME% of an app setting');
    return;
  }
  const origin = originOf({ url: url.startsWith('%') ? url.replace(/^%\w+%/, 'https://x') : url }, () => 'x');
  const { protocol, username, password } = origin ?? {};
  const written = url.replaceAll(/%\w+%|\{[^}]*\}/g, '');
  if (origin === undefined || (protocol !== 'https:' && protocol !== 'http:')) {
    refuse(at, 'is not an address', 'must be such as "https://billing.example.com/api/close"');
  } else if (username !== '' || password !== '') {
    refuse(at, 'has a user name', 'send it in a header, as %NAME% of an app setting');
  } else if (maskSecrets(written) !== written) {
    report.warning([...place, 'url'], ...SECRET, MASK);
  }
}

const SECRET = [
  'looks like a secret: jobs.json is kept with the source, and the dashboard shows it',
  'keep it in an app setting or Key Vault: the text must be %NAME%',
] as const;

function checkHeaders({ headers, identity }: CallSpec, place: Path, report: CheckedJob['report']): void {
  const refuse = refuser(place, report);
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const at = { path: ['headers', name], text: value };
    const key = name.toLowerCase();
    if (!HEADER_NAME.test(name)) refuse(at, 'has a name that no header can have', 'use letters, digits and -');
    else if (OWN_HEADER.test(name)) refuse(at, 'is a header that cronlease sets', 'leave it out');
    else if (key === 'authorization' && identity !== undefined) {
      refuse(at, 'is a header that "identity" sets', 'leave one of them out');
    } else if (seen.has(key)) refuse(at, 'occurs twice, in different letters', 'leave one of them out');
    else if (!isHeaderValue(value)) {
      refuse(at, 'has characters that a header cannot contain', 'encode them');
    } else if (looksSecret(name, value)) report.warning([...place, 'headers', name], ...SECRET, MASK);
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
  const refuse = refuser(['jobs', name, 'call'], report);
  let isComplete = true;
  for (const at of textsOf(call)) {
    for (const setting of placesIn(at.text).settings.filter((one) => !readSetting(one))) {
      const remedy = 'set it in this app, or correct its name';
      refuse(at, `names the app setting ${setting}, which is not set`, remedy);
      isComplete = false;
    }
    if (at.path[0] === 'headers' && !isHeaderValue(withSettings(at.text, readSetting))) {
      refuse(at, 'names an app setting with characters that a header cannot contain', 'correct it');
    }
  }
  if (!isComplete) return;
  const address = { path: ['url'], text: call.url };
  const origin = originOf(call, readSetting);
  if (origin === undefined) {
    refuse(address, 'is not an address with its app settings filled in', 'correct the settings');
    return;
  }
  const why = whyForbidden(origin);
  if (why === undefined) return;
  const isSetting = placesIn(hostText(call.url)).settings.length > 0;
  refuse(address, 'must not be called', isSetting ? why.replaceAll(origin.hostname, '…') : why);
}
