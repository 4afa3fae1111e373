import { describe, expect, it } from 'vitest';
import { parseListing } from '../../src/stores/azure-blob/listing-xml';
import { leaseOf } from '../../src/stores/azure-blob/rows';

/** In parts of some size, as a body arrives. */
async function* cut(xml: string, size: number): AsyncGenerator<string> {
  for (let start = 0; start < xml.length; start += size) yield xml.slice(start, start + size);
}

const parse = (xml: string, size = 1000) => parseListing(cut(xml, size));

function listingOf(blobs: string, rest = '<NextMarker />'): string {
  return `\uFEFF<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="https://a/" ContainerName="c"><Prefix>jobs/</Prefix><Blobs>${blobs}</Blobs>${rest}</EnumerationResults>`;
}

const MODIFIED = 'Fri, 27 Nov 2026 13:00:00 GMT';

function blobOf(metadata: string, name = '<Name>jobs/a/lease</Name>'): string {
  const properties =
    `<Last-Modified>${MODIFIED}</Last-Modified>` +
    '<Etag>0x1</Etag><Content-Length>12</Content-Length><LeaseStatus>locked</LeaseStatus><LeaseState>leased</LeaseState>';
  return `<Blob>${name}<Properties>${properties}</Properties><Metadata>${metadata}</Metadata><OrMetadata /></Blob>`;
}

describe('the answer to List Blobs', () => {
  it('is read as the service documents it', async () => {
    const text = listingOf(blobOf('<token>3</token><by>a &amp; &quot;b&quot;  &#233;</by><empty />'));
    expect(await parse(text.replace('<NextMarker />', '<NextMarker>2!8!x</NextMarker>'))).toStrictEqual({
      blobs: [
        {
          ...{ name: 'jobs/a/lease', etag: '0x1', lease: 'leased', endless: false, bytes: 12, isFolder: false },
          lastModified: MODIFIED,
          metadata: { token: '3', by: 'a & "b"  é', empty: '' },
        },
      ],
      continuation: '2!8!x',
    });
  });

  it.each(['', '<!-- for the parser -->'])('tells folders from blobs%s', async (before) => {
    const properties =
      '<Properties><ResourceType>directory</ResourceType><Content-Length>0</Content-Length></Properties>';
    const text = listingOf(`<Blob>${before}<Name>jobs/a</Name>${properties}</Blob>${blobOf('')}`);
    expect((await parse(text)).blobs.map(({ name, isFolder }) => [name, isFolder])).toEqual([
      ['jobs/a', true],
      ['jobs/a/lease', false],
    ]);
  });

  it('without blobs is an empty page', async () => {
    expect(await parse(listingOf(''))).toStrictEqual({ blobs: [], continuation: undefined });
  });

  it('keeps metadata keys apart from what objects have', async () => {
    const keys = ['constructor', 'prototype', '__proto__', 'toString', 'hasOwnProperty', 'Name', 'Metadata', 'Etag'];
    const { blobs } = await parse(listingOf(blobOf(keys.map((key) => `<${key}>${key}</${key}>`).join(''))));
    expect(blobs[0]).toMatchObject({ name: 'jobs/a/lease', etag: '0x1' });
    expect(Object.entries(blobs[0]?.metadata ?? {})).toEqual(keys.map((key) => [key, key]));
    expect(Object.getPrototypeOf(blobs[0]?.metadata)).toBe(Object.prototype);
  });

  it.each(['Blob', 'Metadata', 'Properties', 'Name'])('takes a user key %s for a key', async (key) => {
    const { blobs } = await parse(listingOf(blobOf(`<${key}>1</${key}><other>2</other><${key}x>3</${key}x>`)));
    expect(blobs.map(({ metadata }) => metadata)).toEqual([{ [key]: '1', other: '2', [`${key}x`]: '3' }]);
  });

  it('takes elements for what they are only in their place', async () => {
    const nested = '<a><LeaseState>available</LeaseState><Name>jobs/x/lease</Name></a><NextMarker>evil</NextMarker>';
    const { blobs, continuation } = await parse(listingOf(blobOf(nested)));
    expect(blobs[0]).toMatchObject({ name: 'jobs/a/lease', lease: 'leased', metadata: { NextMarker: 'evil' } });
    expect(continuation).toBeUndefined();
  });

  it.each([
    ['jobs/%EF%BF%BFa', 'jobs/\uFFFFa'],
    ['jobs/%zz', 'jobs/%zz'],
  ])('decodes the name %s', async (written, name) => {
    const { blobs } = await parse(listingOf(blobOf('', `<Name Encoded="true">${written}</Name>`)));
    expect(blobs[0]?.name).toBe(name);
    const plain = await parse(listingOf(blobOf('', `<Name>${written}</Name>`)));
    expect(plain.blobs[0]?.name).toBe(written);
  });

  it('takes a state that it does not know for leased', async () => {
    const { blobs } = await parse(listingOf(blobOf('')).replace('>leased<', '>frozen<'));
    expect(leaseOf(blobs[0]?.lease ?? '')).toEqual({ lease: 'leased' });
  });

  it('takes a lease that is being broken for a broken one that still lasts', () => {
    expect(leaseOf('breaking')).toEqual({ lease: 'broken', isEnding: true });
    expect(leaseOf('broken')).toEqual({ lease: 'broken' });
  });

  it.each([1, 2, 7, 10_000])('is the same in parts of %i characters', async (size) => {
    const value = '😀é&amp;'.repeat(9);
    const { blobs } = await parse(listingOf(blobOf(`<k>${value}</k>`).repeat(40)), size);
    expect(new Set(blobs.map(({ metadata }) => metadata['k']))).toEqual(new Set(['😀é&'.repeat(9)]));
    expect(blobs).toHaveLength(40);
  });

  it.each([
    ['a CDATA section', '<k><![CDATA[a < b]]></k>', { k: 'a < b' }],
    ['a comment', '<k>a<!-- no -->b</k>', { k: 'ab' }],
    ['a nested blob', '<Blob>x</Blob>', { Blob: 'x' }],
    ['a character by its number', '<k>&#x41;&amp;lt;</k>', { k: 'A&lt;' }],
    ['space between elements', ' <k>v</k> ', { k: 'v' }],
    ['a value with a line end', '<k>a\r\nb</k>', { k: 'a\nb' }],
    ['a long value', `<k>${'x'.repeat(100_000)}</k>`, { k: 'x'.repeat(100_000) }],
  ])('may contain %s, between blobs in the usual form', async (_, metadata, read) => {
    const usual = blobOf('<k>&lt;1&gt;</k><e />');
    for (const size of metadata.length > 1000 ? [50_000] : [1, 50, 1_000_000]) {
      const { blobs, continuation } = await parse(
        listingOf(usual + blobOf(metadata, '<Name>jobs/b/lease</Name>') + usual, '<NextMarker>n</NextMarker>'),
        size,
      );
      expect(blobs.map(({ name }) => name)).toEqual(['jobs/a/lease', 'jobs/b/lease', 'jobs/a/lease']);
      expect(blobs.map((blob) => blob.metadata)).toEqual([{ k: '<1>', e: '' }, read, { k: '<1>', e: '' }]);
      expect(continuation).toBe('n');
    }
  });

  it('takes no blob from outside the list of blobs', async () => {
    const { blobs } = await parse(listingOf(blobOf(''), `<Other>${blobOf('')}</Other><NextMarker />`));
    expect(blobs).toHaveLength(1);
    const before = await parse(listingOf(blobOf('')).replace('<Prefix>', `<Other>${blobOf('')}</Other><Prefix>`));
    expect(before.blobs).toHaveLength(1);
  });

  it.each([
    ['', 'document must contain a root element'],
    ['<html><body>Sign in</body></html>', 'its root element is html'],
    [listingOf(blobOf('<k>v</k>')).slice(0, -30), 'unclosed tag'],
    [listingOf(blobOf('<a>1</b>')), 'unexpected close tag'],
    [`<!DOCTYPE x [<!ENTITY e "boom">]>${listingOf(blobOf('<k>&e;</k>')).slice(39)}`, 'undefined entity'],
  ])('that is none is an error: %#', async (text, message) => {
    await expect(parse(text)).rejects.toThrow(message);
  });
});
