/** Reads a header of a request by its name in lowercase; undefined if it was not sent. */
export type Header = (name: string) => string | undefined;

/**
 * Whether no page of another site sent a request. Browsers state the relation of page and request themselves; older ones
 * name only the page's origin.
 */
export function isSameOrigin(header: Header): boolean {
  const site = header('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  const origin = header('origin');
  if (origin === undefined) return true;
  const host = URL.parse(origin)?.host;
  return host !== undefined && host !== '' && host === header('host')?.toLowerCase();
}
