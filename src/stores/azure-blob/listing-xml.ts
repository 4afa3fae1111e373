import { SaxesParser } from 'saxes';
import type { Metadata } from '../../lease/store';

/** One blob of a listing. */
export interface ListedBlob {
  readonly name: string;
  readonly etag: string;
  /** When it was last written, as `Fri, 27 Nov 2026 13:00:00 GMT`. */
  readonly lastModified: string;
  /** The lease state in the service's terms. */
  readonly lease: string;
  readonly endless: boolean;
  /** The length of its body. */
  readonly bytes: number;
  /** A folder of an account with a hierarchical namespace, which lists these among the blobs. */
  readonly isFolder: boolean;
  readonly metadata: Metadata;
}

/** One page of a listing, without its Date, which is in a header. */
export interface ListingPage {
  readonly blobs: readonly ListedBlob[];
  readonly continuation: string | undefined;
}

const BLOBS = 'EnumerationResults/Blobs';
const BLOB = `${BLOBS}/Blob`;
const BLOB_START = '<Blob>';
const BLOB_END = '</Blob>';
/** Longer than any blob of a listing. */
const BLOB_AT_MOST = 64 * 1024;

/**
 * Reads the answer to List Blobs. The SDK's parser rejects a page with a metadata key `constructor`, `prototype` or
 * `__proto__`, because it builds objects from element names. Here names are data. A page may have many MB, so it is
 * parsed as it arrives. Blobs in the service's usual form are scanned; from the first other one on, a parser reads all.
 *
 * @throws Error if the text is not a whole listing
 * @see https://learn.microsoft.com/rest/api/storageservices/list-blobs
 */
export async function parseListing(text: AsyncIterable<string>): Promise<ListingPage> {
  const blobs: ListedBlob[] = [];
  const outline = parseOutline(blobs);
  let rest = '';
  let scans = true;
  for await (const part of text) {
    if (!scans) {
      outline.write(part);
      continue;
    }
    rest += part;
    let at = 0;
    if (!outline.amongBlobs) {
      const start = rest.indexOf(BLOB_START);
      if (start < 0) continue;
      outline.write(rest.slice(0, start));
      at = start;
    }
    for (let end = rest.indexOf(BLOB_END, at); scans && end >= 0; end = rest.indexOf(BLOB_END, at)) {
      const blob = outline.amongBlobs ? scanBlob(rest, at, end) : undefined;
      if (blob === undefined) scans = false;
      else {
        blobs.push(blob);
        at = end + BLOB_END.length;
      }
    }
    rest = rest.slice(at);
    if (scans && rest.length <= BLOB_AT_MOST) continue;
    scans = false;
    outline.write(rest);
    rest = '';
  }
  outline.write(rest);
  return { blobs, continuation: outline.end() };
}

/** Parses what was not scanned: the elements around the blobs, and blobs in an unusual form. */
function parseOutline(blobs: ListedBlob[]) {
  let continuation = '';
  let root: string | undefined;
  let blobName: string | undefined;
  let properties = new Map<string, string>();
  let metadata: [string, string][] = [];
  let content = '';
  let encoded = false;
  const path: string[] = [];

  const close = (where: string, name: string): void => {
    if (where === BLOB) {
      const own = metadata;
      const property = (wanted: string): string | undefined => properties.get(wanted);
      blobs.push(blobOf(blobName, property, () => own));
    }
    if (where === `${BLOB}/Metadata/${name}`) metadata.push([name, content]);
    else if (where === `${BLOB}/Name`) blobName = encoded ? decodeName(content) : content;
    else if (where === `${BLOB}/Properties/${name}`) properties.set(name, content);
    else if (where === 'EnumerationResults/NextMarker') continuation = content;
  };
  const parser = new SaxesParser({ position: false });
  parser.on('opentag', ({ name, attributes }) => {
    path.push(name);
    root ??= name;
    content = '';
    encoded = attributes['Encoded'] === 'true';
    if (name === 'Blob' && path.join('/') === BLOB) {
      blobName = undefined;
      properties = new Map();
      metadata = [];
    }
  });
  parser.on('text', (part) => {
    content += part;
  });
  parser.on('cdata', (part) => {
    content += part;
  });
  parser.on('closetag', ({ name }) => {
    close(path.join('/'), name);
    path.pop();
    content = '';
  });
  return {
    /** Whether the next character is between the blobs of the listing. */
    get amongBlobs() {
      return path.join('/') === BLOBS;
    },
    write(text: string): void {
      parser.write(text);
    },
    /**
     * @returns the continuation, if there is one
     * @throws Error if the text is not a whole listing
     */
    end(): string | undefined {
      parser.close();
      if (root !== 'EnumerationResults')
        throw new Error(`the answer is not a listing: its root element is ${root ?? 'missing'}`);
      return continuation === '' ? undefined : continuation;
    },
  };
}

/** The service percent-encodes names with characters that XML cannot hold. */
function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    // cronlease did not write this name. Messages show it undecoded.
    return name;
  }
}

/** A property of a blob in a listing, by the service's name for it. */
type Property = (name: string) => string | undefined;

/**
 * The blob with these fields, as a listing shows it.
 *
 * @param readMetadata called at most once, when the metadata is asked for
 */
export function blobOf(
  name: string | undefined,
  property: Property,
  readMetadata: () => readonly (readonly [string, string])[],
): ListedBlob {
  let metadata: Metadata | undefined;
  return {
    name: name ?? '',
    etag: property('Etag') ?? '',
    lastModified: property('Last-Modified') ?? '',
    lease: property('LeaseState') ?? 'available',
    endless: property('LeaseDuration') === 'infinite',
    bytes: Number(property('Content-Length') ?? '0'),
    isFolder: property('ResourceType') === 'directory',
    get metadata() {
      // Makes own properties, so that `__proto__` is a key like any other.
      metadata ??= Object.fromEntries(readMetadata());
      return metadata;
    },
  };
}

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
function scanBlob(text: string, start: number, end: number): ListedBlob | undefined {
  const blob = text.slice(start, end);
  // In a comment or in CDATA, tags mean nothing.
  if (blob.includes('<!') || !blob.startsWith(BLOB_START)) return undefined;
  let name: string | undefined;
  const keepName = (field: string, value: string): void => {
    if (field === 'Name') name = value;
  };
  let at = fieldsFrom(blob, BLOB_START.length, keepName);
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
