/** A piece of a sentence. */
export interface HelpPiece {
  readonly text: string;
  readonly as?: 'code' | 'strong';
  /** Leads to the heading with this anchor. */
  readonly anchor?: string;
}

export type HelpBlock =
  | { readonly kind: 'heading'; readonly level: number; readonly anchor: string; readonly pieces: readonly HelpPiece[] }
  | { readonly kind: 'text'; readonly pieces: readonly HelpPiece[] }
  | { readonly kind: 'list'; readonly items: readonly (readonly HelpPiece[])[] };

/** docs/how-to/on-call.md: `scripts/help.mjs` makes this module. */
export const HELP: readonly HelpBlock[];
