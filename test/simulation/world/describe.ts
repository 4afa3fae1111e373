import type { Row } from '../../../src/core/row';
import type { Metadata } from '../../../src/lease/store';
import { keyText, short } from './facts';

/** A control as a trace shows it. */
export function controlText(metadata: Metadata): string {
  const { pauses, cancel, manualruns: requests } = metadata;
  return [pauses && `pauses ${pauses}`, cancel && `cancel ${cancel}`, requests && `requests ${requests}`]
    .filter((part) => part !== undefined)
    .join(', ');
}

/** A layout as a trace shows it. */
export function layoutText({ version, state, left }: Metadata): string {
  return `version ${String(version)} ${String(state)}${left === undefined ? '' : ', left'}`;
}

/** A row as a trace shows it. */
export function describeRow({
  token,
  cursor,
  run,
  phase,
  attempt,
  owed,
  busyUntil,
  stood,
  notBefore,
  forgotten,
}: Row): string {
  return [
    `token ${String(token)}`,
    `cursor ${short(cursor)}`,
    `run ${keyText(run?.key ?? '')}`,
    `${phase} ${String(attempt)}`,
    ...(owed.length === 0
      ? []
      : [`owes ${owed.map(({ outcome, from, count }) => `${outcome} ${short(from)} x${String(count)}`).join(' ')}`]),
    ...(busyUntil === undefined ? [] : [`busy until ${short(busyUntil)}`]),
    ...stood.map(({ from, until }) => `stood still ${short(from)} to ${short(until)}`),
    ...(notBefore === undefined ? [] : [`not before ${short(notBefore)}`]),
    ...(forgotten === undefined ? [] : ['forgotten']),
  ].join(', ');
}
