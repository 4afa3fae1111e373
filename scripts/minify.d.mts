import type { OutputFile } from 'esbuild';

export const toMinify: { bundle: true; minifySyntax: true; write: false; legalComments: 'external' };
/** @throws Error if a file is no JavaScript */
export function writeMinified(bundle: { readonly outputFiles: readonly OutputFile[] }): void;
