import type { JSX } from 'preact';
import { environment } from './session';

/** The environment's name in its colour. */
export function EnvironmentChip(): JSX.Element | null {
  const shown = environment.value;
  if (shown === undefined) return null;
  return <span class={`environment ${shown.color}`}>{shown.name}</span>;
}
