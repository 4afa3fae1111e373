import { SaxesParser } from 'saxes';
import { type ListedBlob, blobOf } from './listed-blob';
import { scanBlob } from './scan-blob';

/** One page of a listing, without its Date, which is in a header. */
export interface ListingPage {
  readonly blobs: readonly ListedBlob[];
  readonly continuation: string | undefined;
}

const BLOBS = 'EnumerationResults/Blobs';
const BLOB = `${BLOBS}/Blob`;
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
      const start = rest.indexOf('<Blob>');
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

interface Outline {
  /** Whether the next character is between the blobs of the listing. */
  readonly amongBlobs: boolean;
  write(text: string): void;
  /**
   * @returns the continuation, if there is one
   * @throws Error if the text is not a whole listing
   */
  end(): string | undefined;
}

/** Parses what was not scanned: the elements around the blobs, and blobs in an unusual form. */
function parseOutline(blobs: ListedBlob[]): Outline {
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
    get amongBlobs() {
      return path.join('/') === BLOBS;
    },
    write(text) {
      parser.write(text);
    },
    end() {
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
