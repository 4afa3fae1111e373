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
