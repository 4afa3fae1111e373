import type { JSX } from 'preact';
import { environment } from './session';

/** The environment's name in its colour. */
export function EnvironmentChip(): JSX.Element | null {
  const shown = environment.value;
  if (shown === undefined) return null;
  // A long name is cut off.
  return (
    <span class={`environment ${shown.color}`} title={shown.name}>
      {shown.name}
    </span>
  );
}
