/** Entry of a process that answers listings as Azure Storage does, on pages of 5,000 blobs, each after a delay. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const PAGE = 5_000;
/** An answer of Azure within its region takes some milliseconds, and that with a full page about this long. */
const DELAY_MS = 100;

const [jobs = 0] = process.argv.slice(2).map(Number);

const METADATA =
  '<token>12</token><cursor>2026-01-01T00:00:00.000Z</cursor><phase>idle</phase><incumbent>north</incumbent>' +
  '<revision>1</revision><schedule>0123456789abcdef</schedule><run>7931526400000-s</run><attempt>1</attempt>';
const PROPERTIES =
  '<Creation-Time>Thu, 01 Jan 2026 00:00:00 GMT</Creation-Time><Last-Modified>Thu, 01 Jan 2026 00:00:00 GMT</Last-Modified>' +
  '<Etag>0x8DE48F00C0FFEE0</Etag><Content-Length>0</Content-Length><Content-Type>application/octet-stream</Content-Type>' +
  '<Content-Encoding /><Content-Language /><Content-CRC64 /><Content-MD5>1B2M2Y8AsgTpgAmY7PhCfg==</Content-MD5>' +
  '<Cache-Control /><Content-Disposition /><BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier>' +
  '<AccessTierInferred>true</AccessTierInferred><LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>' +
  '<ServerEncrypted>true</ServerEncrypted>';

const names = Array.from({ length: jobs }, (_, index) => `jobs/job-${String(index).padStart(6, '0')}/lease`);

/** The index of the first name that is not before this one. */
function indexOf(name: string): number {
  let [low, high] = [0, names.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((names[middle] ?? '') < name) low = middle + 1;
    else high = middle;
  }
  return low;
}

function page(query: URLSearchParams): string {
  const first = Math.max(indexOf(query.get('startFrom') ?? ''), Number(query.get('marker') ?? 0));
  const end = Math.min(names.length, first + Math.min(PAGE, Number(query.get('maxresults') ?? PAGE)));
  const blobs = names
    .slice(first, end)
    .map(
      (name) =>
        `<Blob><Name>${name}</Name><Properties>${PROPERTIES}</Properties><Metadata>${METADATA}</Metadata></Blob>`,
    );
  const marker = end < names.length ? String(end) : '';
  return `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>${blobs.join('')}</Blobs><NextMarker>${marker}</NextMarker></EnumerationResults>`;
}

const server = createServer((request, response) => {
  setTimeout(() => {
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(page(new URL(request.url ?? '', 'http://localhost').searchParams));
  }, DELAY_MS);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit(0));
