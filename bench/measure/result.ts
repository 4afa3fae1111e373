import type { Figures } from '../figures/judge';
import type { Usage } from './usage';

/** One run of one system under one load. */
export interface Result {
  readonly system: string;
  /** As in `--loads`. */
  readonly load: string;
  readonly repetition: number;
  /** How far the workers' clocks are apart, in ms. */
  readonly skewMs: number;
  /** The machine's load average of the last minute, before the run. */
  readonly loadBefore: number;
  readonly figures: Figures;
  /** Handlers that ran while usage was measured. */
  readonly runs: number;
  readonly usage: Usage;
  /** The first few lines that workers printed as errors or warnings, and how many there were. */
  readonly trouble: { readonly lines: number; readonly first: readonly string[] };
}
