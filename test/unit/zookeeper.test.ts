import { describe, expect, it } from 'vitest';
import { checkStorageName } from '../../src/stores/azure-blob/connection';
import { StorageSettingsError } from '../../src/stores/settings-error';
import { ensembleOf } from '../../src/stores/http/url';
import { openStore } from '../../src/stores/open';
import { FAULTS, NoNodeError, ZooKeeperError } from '../../src/stores/zookeeper/errors';
import { escaped, mayHold, unescaped } from '../../src/stores/zookeeper/paths';
import { type Field, frameOf, framesTo, multiAnswerIn, readerOf } from '../../src/stores/zookeeper/protocol';
import { systemClock } from '../../src/system-clock';

describe('a URL of ZooKeeper', () => {
  it.each([
    ['zk://h', { location: 'zk://h:2181', members: [{ host: 'h', port: 2181 }], prefix: '', user: undefined }],
    ['zk://a:1,b,[::1]:3/apps/jobs/', { location: 'zk://a:1,b:2181,[::1]:3/apps/jobs', prefix: '/apps/jobs' }],
    ['zk://ann:p%40ss:x@h/', { location: 'zk://h:2181', user: 'ann', password: 'p@ss:x' }],
    ['ZKS://h', { location: 'zks://h:2281', tls: { cacert: undefined } }],
    ['zks://h?cacert=%2Fca.pem', { location: 'zks://h:2281', tls: { cacert: '/ca.pem' } }],
  ])('%s is read', (url, expected) => {
    expect(ensembleOf(url)).toMatchObject(expected);
  });

  it.each(['', 'h#x', 'h:0', 'h:99999', 'a,,b', 'h/a//b', 'h/..', 'h/a b', 'h?x=y', 'h?cacert=f', 'h:x', '@'])(
    'is refused if its place is "%s", without its password',
    (place) => {
      const secret = 's3cret-of-mine';
      const settings = { CRONLEASE_STORAGE: `zk://u:${secret}@${place}` };
      const open = () => openStore({ settings, container: undefined, clock: systemClock });
      expect(open).toThrow(expect.objectContaining({ code: 'ConnectionStringInvalid' }));
      expect(open).not.toThrow(new RegExp(secret));
    },
  );

  it.each(['u@h', 'u:@h', ':p@h', '@h', ':@h', 'u%3Ax:p@h', 'u:%zz@h'])(
    'is refused if its login is that of "%s"',
    (rest) => {
      expect(() => ensembleOf(`zk://${rest}`)).toThrow(StorageSettingsError);
    },
  );

  it('opens a store whose location has no secret', () => {
    const settings = { CRONLEASE_STORAGE: 'zk://u:s3cret@h/x?insecure=allow' };
    expect(() => checkStorageName(settings, 'cronlease')).not.toThrow();
    expect(openStore({ settings, container: undefined, clock: systemClock }).location).toBe('zk://h:2181/x/cronlease');
  });
});

describe('an error of ZooKeeper', () => {
  it.each([
    [new ZooKeeperError(-102), 'StoreDenied', 'NOAUTH', 'denied'],
    [new ZooKeeperError(-115), 'StoreDenied', 'AUTHFAILED', 'denied'],
    [new ZooKeeperError(-127), 'StoreUnavailable', 'more requests', 'throttled'],
    [new ZooKeeperError(-999), 'StoreUnavailable', 'error -999', 'error'],
    [new NoNodeError(), 'StoreUnavailable', 'container does not exist', 'error'],
    [new Error('connect ECONNREFUSED'), 'StoreUnavailable', 'Check whether', 'noAnswer'],
    [new AggregateError([new Error('one'), new Error('two')]), 'StoreUnavailable', 'two', 'noAnswer'],
  ])('%s is %s', (error, code, text, result) => {
    expect(FAULTS.failure(error, 'read at zk://h')).toMatchObject({ code, message: expect.stringContaining(text) });
    expect(FAULTS.resultOf(error)).toBe(result);
  });
});

describe('frames of ZooKeeper', () => {
  const fields: readonly Field[] = [{ int: -3 }, { long: 2n ** 40n }, { flag: true }, { text: 'é' }];

  it('come out whole, however they are cut on their way', () => {
    const sent = Buffer.concat([frameOf(fields), frameOf([]), frameOf([{ bytes: Buffer.alloc(300) }])]);
    for (const size of [1, 3, 7, sent.length]) {
      const found: Buffer[] = [];
      const join = framesTo((frame) => found.push(frame));
      for (let at = 0; at < sent.length; at += size) join(sent.subarray(at, at + size));
      expect(found.map(({ length }) => length)).toEqual([19, 0, 304]);
      const reader = readerOf(found[0] ?? Buffer.alloc(0));
      expect([reader.int(), reader.long(), reader.flag(), reader.text()]).toEqual([-3, 2n ** 40n, true, 'é']);
    }
  });

  it('that end too early, or have no length, are errors', () => {
    expect(() => readerOf(Buffer.from([0, 0, 0, 9, 1])).bytes()).toThrow(RangeError);
    expect(() => readerOf(Buffer.alloc(2)).int()).toThrow(RangeError);
    expect(() => framesTo(() => undefined)(Buffer.from([255, 0, 0, 0]))).toThrow(RangeError);
    expect(readerOf(Buffer.from([255, 255, 255, 255])).bytes()).toHaveLength(0);
  });

  it('of a transaction that failed name the part that did', () => {
    const part = (error: number): Field[] => [{ int: -1 }, { flag: false }, { int: error }, { int: error }];
    const end: Field[] = [{ int: -1 }, { flag: true }, { int: -1 }];
    const frame = frameOf([...part(0), ...part(-103), ...part(-2), ...end]).subarray(4);
    expect(multiAnswerIn(readerOf(frame))).toEqual({ error: -103 });
    expect(multiAnswerIn(readerOf(frameOf(end).subarray(4)))).toEqual({ stats: [] });
  });
});

describe('names of nodes', () => {
  it.each(['a/b/', '.', '..', 'x%2F?#&+u', 'A~!$\'()*,;=:@[]"<>^`{|}\\', 'é'])('%s comes back', (name) => {
    expect(escaped(name)).not.toMatch(/[/.]/);
    expect(unescaped(escaped(name))).toBe(name);
  });

  it.each([
    ['8231', '', '', true],
    ['8231', '82', '', true],
    ['8231', '8231526', '', true],
    ['8231', '8232', '', false],
    ['8231', '', '8231526400000-s', true],
    ['8231', '', '8232526400000-s', false],
    ['1-s', '', '', true],
    ['1-s', '1-s/', '', true],
  ])('a division %s with the prefix "%s" after "%s": %s', (division, prefix, after, expected) => {
    expect(mayHold(division, prefix, after)).toBe(expected);
  });
});
