import type { ListedPiece, PieceStore } from './store';

/** The pages of a listing. Each is asked for once the one before it has been read. */
export async function* pagesOf<Page extends { readonly continuation: string | undefined }>(
  list: (from: { readonly continuation?: string }) => Promise<Page>,
): AsyncGenerator<Page> {
  let page = await list({});
  yield page;
  while (page.continuation !== undefined) {
    page = await list({ continuation: page.continuation });
    yield page;
  }
}

export async function collected<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/**
 * All pages of a listing of pieces.
 *
 * @param list one call, which spreads `next` into its request
 */
export async function allPieces(
  list: (next: { readonly continuation?: string }) => ReturnType<PieceStore['listPieces']>,
): Promise<readonly ListedPiece[]> {
  return (await collected(pagesOf(list))).flatMap(({ pieces }) => pieces);
}
