import type { BlobProperties, ListedBlob } from './listed-blob';
import { blobOf } from './listed-blob';

/** One element without attributes, children or CDATA. */
const FIELD = /<([A-Za-z_][\w.-]*)(?: ?\/>|>([^<]*)<\/\1>)/y;
const ENTITY = /&(?:amp|lt|gt|quot|apos);/g;
const CHARACTERS: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
};

/** A blob that was scanned, and the position after it. */
export interface Scanned {
  readonly blob: ListedBlob;
  readonly end: number;
}

/**
 * Reads one `<Blob>` of a listing in the form in which the service writes it, about three times as fast as a parser does.
 *
 * @returns undefined for any other form, which a parser must read
 */
export function scanBlob(text: string, start: number): Scanned | undefined {
  let at = start;
  const skip = (tag: string): boolean => {
    if (!text.startsWith(tag, at)) return false;
    at += tag.length;
    return true;
  };
  /** Reads fields until something else comes. Returns false for a value that only a parser can read. */
  const fields = (take: (name: string, value: string) => void): boolean => {
    for (;;) {
      FIELD.lastIndex = at;
      const [field, name, raw = ''] = FIELD.exec(text) ?? [];
      if (field === undefined || name === undefined) return true;
      const value = plainText(raw);
      if (value === undefined) return false;
      take(name, value);
      at += field.length;
    }
  };

  /** Takes everything up to a closing tag that no user's text can contain. */
  const upTo = (tag: string): string | undefined => {
    const end = text.indexOf(tag, at);
    if (end < 0) return undefined;
    const found = text.slice(at, end);
    at = end + tag.length;
    return found;
  };

  let name: string | undefined;
  const metadata: [string, string][] = [];
  const keepName = (field: string, value: string): void => {
    if (field === 'Name') name = value;
  };
  if (!skip('<Blob>') || !fields(keepName) || !skip('<Properties>')) return undefined;
  const properties = propertiesIn(upTo('</Properties>') ?? '&');
  if (properties === undefined || name === undefined) return undefined;
  if (skip('<Metadata>')) {
    const isPlain = fields((key, value) => metadata.push([key, value])) && skip('</Metadata>');
    if (!isPlain) return undefined;
  }
  if (!fields(keepName) || !skip('</Blob>')) return undefined;
  return { blob: blobOf(name, properties, metadata), end: at };
}

/** Undefined if one of them is in a form that a parser must read. The service writes text of users with entities. */
function propertiesIn(text: string): BlobProperties | undefined {
  if (text.includes('&') || text.includes('<!')) return undefined;
  const property = (name: string): string | undefined => {
    const tag = `<${name}>`;
    const start = text.indexOf(tag);
    return start < 0 ? undefined : text.slice(start + tag.length, text.indexOf('<', start + tag.length));
  };
  return {
    etag: property('Etag'),
    leaseState: property('LeaseState'),
    leaseDuration: property('LeaseDuration'),
    contentLength: property('Content-Length'),
  };
}

/** The text with its entities decoded; undefined if it has one that XML does not define by itself. */
function plainText(raw: string): string | undefined {
  // XML normalizes line ends, which a parser does.
  if (raw.includes('\r')) return undefined;
  if (!raw.includes('&')) return raw;
  const decoded = raw.replace(ENTITY, (entity) => CHARACTERS[entity] ?? entity);
  return raw.replaceAll(ENTITY, '').includes('&') ? undefined : decoded;
}
