import { SaxesParser } from 'saxes';
import type { Metadata } from '../../lease/store';

/** One blob of a listing. */
export interface ListedBlob {
  readonly name: string;
  readonly etag: string;
  /** The lease state in the service's terms. */
  readonly lease: string;
  readonly endless: boolean;
  /** The length of its body. */
  readonly bytes: number;
  readonly metadata: Metadata;
}

/** One page of a listing, without its Date, which is in a header. */
export interface ListingPage {
  readonly blobs: readonly ListedBlob[];
  readonly continuation: string | undefined;
}

const BLOB = 'EnumerationResults/Blobs/Blob';

/**
 * Reads the answer to List Blobs. The SDK's parser rejects a page with a metadata key `constructor`, `prototype` or
 * `__proto__`, because it builds objects from element names. Here names are data. A page may have many MB, so it is
 * parsed as it arrives.
 *
 * @throws Error if the text is not a whole listing
 * @see https://learn.microsoft.com/rest/api/storageservices/list-blobs
 */
export async function parseListing(text: AsyncIterable<string>): Promise<ListingPage> {
  const blobs: ListedBlob[] = [];
  let continuation = '';
  let root: string | undefined;
  let blob = new Map<string, string>();
  let metadata: [string, string][] = [];
  let content = '';
  let encoded = false;
  const path: string[] = [];

  const close = (where: string, name: string): void => {
    if (where === BLOB) blobs.push(blobOf(blob, metadata));
    else if (where === `${BLOB}/Metadata/${name}`) metadata.push([name, content]);
    else if (where === `${BLOB}/Name`) blob.set('Name', encoded ? decodeName(content) : content);
    else if (where === `${BLOB}/Properties/${name}`) blob.set(name, content);
    else if (where === 'EnumerationResults/NextMarker') continuation = content;
  };
  const parser = new SaxesParser({ position: false });
  parser.on('opentag', ({ name, attributes }) => {
    path.push(name);
    root ??= name;
    content = '';
    encoded = attributes['Encoded'] === 'true';
    if (name === 'Blob' && path.join('/') === BLOB) {
      blob = new Map();
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
  for await (const part of text) parser.write(part);
  parser.close();
  if (root !== 'EnumerationResults')
    throw new Error(`the answer is not a listing: its root element is ${root ?? 'missing'}`);
  return { blobs, continuation: continuation === '' ? undefined : continuation };
}

function blobOf(fields: ReadonlyMap<string, string>, metadata: readonly [string, string][]): ListedBlob {
  return {
    name: fields.get('Name') ?? '',
    etag: fields.get('Etag') ?? '',
    lease: fields.get('LeaseState') ?? 'available',
    endless: fields.get('LeaseDuration') === 'infinite',
    bytes: Number(fields.get('Content-Length') ?? 0),
    // Makes own properties, so that `__proto__` is a key like any other.
    metadata: Object.fromEntries(metadata),
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
