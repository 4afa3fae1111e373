import { type ListedBlob, type Property, blobOf } from './listed-blob';

/** One element without attributes, children or CDATA. */
const FIELD = /<([A-Za-z_][\w.-]*)(?: ?\/>|>([^<]*)<\/\1>)/y;
/** Only fields, with values that {@link plainText} can read. */
const FIELDS = /^(?:<([A-Za-z_][\w.-]*)(?: ?\/>|>[^<&\r]*(?:&(?:amp|lt|gt|quot|apos);[^<&\r]*)*<\/\1>))*$/;
const ENTITY = /&(?:amp|lt|gt|quot|apos);/g;
const CHARACTERS: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
};

/**
 * Reads one `<Blob>` of a listing in the form in which the service writes it. Its metadata is read only when it is
 * asked for: most blobs of a sweep are as they were, and their ETag shows that. Decision 028.
 *
 * @param start the position of `<Blob>`
 * @param end the position of the next `</Blob>`
 * @returns undefined for any other form, which a parser must read
 */
export function scanBlob(text: string, start: number, end: number): ListedBlob | undefined {
  const blob = text.slice(start, end);
  // In a comment or in CDATA, tags mean nothing.
  if (blob.includes('<!') || !blob.startsWith(BLOB)) return undefined;
  let name: string | undefined;
  const keepName = (field: string, value: string): void => {
    if (field === 'Name') name = value;
  };
  let at = fieldsFrom(blob, BLOB.length, keepName);
  const propertiesEnd = blob.indexOf('</Properties>', at);
  if (propertiesEnd < 0 || !blob.startsWith('<Properties>', at)) return undefined;
  const property = propertyIn(blob.slice(at, propertiesEnd));
  if (property === undefined) return undefined;
  at = propertiesEnd + '</Properties>'.length;
  let metadata = '';
  if (blob.startsWith('<Metadata>', at)) {
    // The last one: a user's key may have the same name.
    const metadataEnd = blob.lastIndexOf('</Metadata>');
    if (metadataEnd < at) return undefined;
    metadata = blob.slice(at + '<Metadata>'.length, metadataEnd);
    if (!FIELDS.test(metadata)) return undefined;
    at = metadataEnd + '</Metadata>'.length;
  }
  // Where a user's key is named Blob, this is not the end.
  if (fieldsFrom(blob, at, keepName) !== blob.length || name === undefined) return undefined;
  return blobOf(name, property, () => metadataIn(metadata));
}

const BLOB = '<Blob>';

/** Reads fields until something else comes, and returns its position. */
function fieldsFrom(text: string, start: number, take: (name: string, value: string) => void): number {
  let at = start;
  for (;;) {
    FIELD.lastIndex = at;
    const [field, name, raw = ''] = FIELD.exec(text) ?? [];
    if (field === undefined || name === undefined) return at;
    const value = plainText(raw);
    // A value that only a parser can read.
    if (value === undefined) return at;
    take(name, value);
    at += field.length;
  }
}

/** The metadata of a text that {@link FIELDS} matches. */
function metadataIn(text: string): readonly (readonly [string, string])[] {
  const metadata: [string, string][] = [];
  fieldsFrom(text, 0, (key, value) => metadata.push([key, value]));
  return metadata;
}

/** Undefined if one of them is in a form that a parser must read. The service writes text of users with entities. */
function propertyIn(text: string): Property | undefined {
  if (text.includes('&') || text.includes('<!')) return undefined;
  return (name) => {
    const tag = `<${name}>`;
    const start = text.indexOf(tag);
    return start < 0 ? undefined : text.slice(start + tag.length, text.indexOf('<', start + tag.length));
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
