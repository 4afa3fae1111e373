import { describe, expect, it } from 'vitest';
import type { JobSpec } from '../../src/core/job';
import { shardOf } from '../../src/core/layout';
import { refuseApart } from '../../src/functions/coordinators';
import { jobSpec } from '../support/job';

const LIST = ['https://a.blob.core.windows.net/cronlease', 'https://b.blob.core.windows.net/cronlease'];
const NAMES = Array.from({ length: 12 }, (_, index) => `job-${String(index)}`);
const inAccount = (account: number): string => {
  const name = NAMES.find((one) => shardOf(one, LIST) === account);
  if (name === undefined) throw new Error('no job is dealt there');
  return name;
};
const [here, there] = [inAccount(0), inAccount(1)];
const member = (name: string): JobSpec => jobSpec(name, '@hourly', { group: { name: 'db', maxParallel: 2 } });

describe('jobs that are dealt to two accounts', () => {
  it('may not be of one group', () => {
    expect(() => {
      refuseApart([jobSpec('other', '@hourly'), member(here), member(there)], LIST);
    }).toThrow(`use "db--${here}" and "db--${there}", for example`);
  });

  it('may not require each other', () => {
    expect(() => {
      refuseApart([member(here), jobSpec(there, '@hourly', { requires: [member(here).name] })], LIST);
    }).toThrow(/requires .* which is in another account/);
  });

  it('may be of two groups, or of one in a single account', () => {
    const other = jobSpec(there, '@hourly', { group: { name: 'api', maxParallel: 1 } });
    refuseApart([member(here), other], LIST);
    refuseApart([member(`db--${here}`), member(`db--${there}`)], LIST);
    refuseApart([member(here), member(there)], LIST.slice(0, 1));
  });
});
