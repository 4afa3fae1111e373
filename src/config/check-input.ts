import { inexactInteger } from '../core/inexact';
import type { CheckedJob } from './checked-job';

/** Refuses an integer that the handler would get as another one. */
export function checkInput({ path, settings, report }: CheckedJob): void {
  const found = inexactInteger(settings.input);
  if (found === undefined) return;
  report.error(
    [...path, 'input', ...found.path],
    'is an integer beyond 2^53; it was read as this one',
    'write it as text, in double quotes',
  );
}
