import { textsIn } from '../core/call';
import { inexactInteger } from '../core/inexact';
import { INPUT_BYTES } from '../core/job';
import { MASK, looksSecret } from '../core/redact';
import type { CheckedJob } from './checked-job';
import type { Path } from './config-error';

/** More warnings of one job say nothing new. */
const SECRETS_SHOWN = 5;

/** Refuses an integer that JavaScript has read as another one. */
export function checkIntegers(value: unknown, place: Path, report: CheckedJob['report']): void {
  const found = inexactInteger(value);
  if (found === undefined) return;
  const problem = 'is an integer beyond 2^53; it was read as this one';
  report.error([...place, ...found.path], problem, 'put it in double quotes, as text');
}

/** Checks the integers of an input. Warns of secrets, and of what is too large to edit. */
export function checkInput({ path, settings, report }: CheckedJob): void {
  const { input } = settings;
  const place = [...path, 'input'];
  checkIntegers(input, place, report);
  for (const secret of secretsIn(input, place).slice(0, SECRETS_SHOWN)) {
    report.warning(
      secret,
      'looks like a secret, and an input must not contain one: jobs.json is kept with the source, and the dashboard shows it',
      'keep it in an app setting or Key Vault, read it in the handler, and write only its name here',
      MASK,
    );
  }
  const bytes = input === undefined ? 0 : Buffer.byteLength(JSON.stringify(input));
  if (bytes <= INPUT_BYTES) return;
  report.warning(
    place,
    `has ${Math.ceil(bytes / 1024)} KB of JSON. A run by hand with a changed input may have ${INPUT_BYTES / 1024} KB`,
    'store it elsewhere, and give its name here',
    '{…}',
  );
}

/** The places of texts that look like secrets. The items of a list have its name. */
function secretsIn(value: unknown, place: Path): readonly Path[] {
  return textsIn(value, []).flatMap(({ path, text }) => {
    const name = path.findLast((key) => typeof key === 'string') ?? '';
    return looksSecret(name, text) ? [[...place, ...path]] : [];
  });
}
