import { describe, expect, it } from 'vitest';
import { alarmRisks, sizeRisk, versionRisk } from '../../src/stores/etcd/space';
import { remaining } from '../../src/stores/etcd/time';

describe('what etcd says of itself', () => {
  it('is nothing while there is no alarm', () => {
    expect(alarmRisks({})).toEqual([]);
    expect(alarmRisks({ alarms: [] })).toEqual([]);
  });

  it('names each alarm once, whatever members have it', () => {
    const alarms = [
      { memberID: '1', alarm: 'NOSPACE' },
      { memberID: '2', alarm: 'NOSPACE' },
      { memberID: '3', alarm: 'CORRUPT' },
    ];
    expect(
      alarmRisks({ alarms }).map(({ isProblem, message }) => [isProblem, /NOSPACE|CORRUPT/.exec(message)?.[0]]),
    ).toEqual([
      [true, 'NOSPACE'],
      [true, 'CORRUPT'],
    ]);
  });

  it('is unknown to a user who may not ask', () => {
    expect(alarmRisks(undefined)).toMatchObject([
      { isProblem: false, remedy: expect.stringContaining('root') as unknown },
    ]);
    expect(sizeRisk(undefined)).toEqual([]);
  });

  it('warns of a database that is nearly full, where the member tells its quota', () => {
    const status = { dbSize: '1800000000', dbSizeQuota: '2147483648' };
    expect(sizeRisk({ ...status, dbSize: '1500000000' })).toEqual([]);
    expect(sizeRisk({ dbSize: '1800000000' })).toEqual([]);
    const [risk] = sizeRisk(status);
    expect(risk?.isProblem).toBe(false);
    expect(risk?.message).toContain('1717 of 2048 MB');
  });

  it.each(['3.4.0', '3.4.23', '3.4.31', '3.5.0', '3.5.13'])(
    'names version %s, whose times may be absurd',
    (version) => {
      expect(versionRisk({ version })).toMatchObject([
        { isProblem: false, message: expect.stringContaining(version) as unknown },
      ]);
    },
  );

  it.each(['3.4.32', '3.5.14', '3.6.0', '4.0.0', undefined])('names no version %s', (version) => {
    expect(versionRisk(version === undefined ? undefined : { version })).toEqual([]);
  });
});

describe('what remains of a lease of etcd', () => {
  const { signal } = new AbortController();

  it.each([
    // Members before 3.4.32 and 3.5.14, around a change of leader.
    [{ TTL: '9223372036', grantedTTL: '15' }, 15_000],
    // A member that has just become leader.
    [{ TTL: '17', grantedTTL: '15' }, 15_000],
    [{ TTL: '14', grantedTTL: '15' }, 14_000],
    [{ TTL: '9223372036', grantedTTL: '9223372036' }, 60_000],
    [{ TTL: '-9223372036', grantedTTL: '15' }, 0],
    [{ TTL: '-1' }, 0],
    [{ grantedTTL: '15' }, 0],
    [{ TTL: 'forever', grantedTTL: '15' }, 0],
  ])('is never more than it was granted: %j', async (json, expected) => {
    expect(await remaining(async () => ({ json, dateHeader: undefined }), '1', signal)).toBe(expected);
  });
});
