import type { ListedPiece, PieceStore } from './store';

/**
 * All pages of a listing of pieces.
 *
 * @param list one call, which spreads `next` into its request
 */
export async function allPieces(
  list: (next: { readonly continuation?: string }) => ReturnType<PieceStore['listPieces']>,
): Promise<readonly ListedPiece[]> {
  const found: ListedPiece[] = [];
  let continuation: string | undefined;
  do {
    const page = await list(continuation === undefined ? {} : { continuation });
    found.push(...page.pieces);
    continuation = page.continuation;
  } while (continuation !== undefined);
  return found;
}
