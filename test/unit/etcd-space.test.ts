import { describe, expect, it } from 'vitest';
import { alarmRisks, sizeRisk } from '../../src/stores/etcd/space';

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
});
