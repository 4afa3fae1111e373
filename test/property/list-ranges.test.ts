import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { listerOfAll, listRanges, type NameRange, planRanges } from '../../src/stores/azure-blob/list-all';
import { listedService } from '../support/listed-service';

/** Names of jobs, some of which begin like others, and names that cronlease never writes. */
const job = fc.oneof(
  fc.stringMatching(/^[a-c-]{1,4}$/),
  fc.stringMatching(/^[a-z0-9-]{1,63}$/),
  fc.stringMatching(/^job-0[0-9]{1,3}$/),
);
const stray = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.tuple(job, fc.constantFrom('', '/', '/d', '/lease/x', '/LEASE', '/~')).map(([name, rest]) => name + rest),
  fc.constantFrom('A/lease', '_/control', 'ü/lease', '\u{1F600}/lease', '~', ' /lease', '.hidden', '/lease', '\uFFFD'),
);
const blob = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(job, fc.constantFrom('/lease', '/control')).map(([name, part]) => name + part) },
  { weight: 1, arbitrary: stray },
);
const blobs = fc.uniqueArray(
  blob.map((name) => `jobs/${name}`),
  { maxLength: 80 },
);

/** What the service held when the ranges were planned, what it holds now, and the sizes of its pages. */
const worlds = fc.record({
  before: blobs,
  kept: fc.array(fc.boolean(), { minLength: 80, maxLength: 80 }),
  added: blobs,
  pageSize: fc.integer({ min: 1, max: 30 }),
  shortPages: fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 6 }),
});

interface World {
  readonly before: readonly string[];
  readonly kept: readonly boolean[];
  readonly added: readonly string[];
  readonly pageSize: number;
  readonly shortPages: readonly number[];
}

type Fault = (ranges: readonly NameRange[]) => readonly NameRange[];

const NO_FAULT: Fault = (ranges) => ranges;

function inOrder(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort((one, other) => (one < other ? -1 : 1));
}

function namesNow({ before, kept, added }: World): readonly string[] {
  return inOrder([...before.filter((_, index) => kept[index]), ...added]);
}

/** Lists what is there now in the ranges of before. Returns whether each name was found once, on a page of its range. */
async function findsAll(world: World, fault: Fault): Promise<boolean> {
  const now = namesNow(world);
  const service = listedService(now, world);
  const reads = await listRanges(service.askPage, fault(planRanges(inOrder(world.before), world.pageSize)), {
    atOnce: 8,
  });
  const found = reads.flatMap(({ pages }) => pages.flatMap((page) => page.blobs.map(({ name }) => name)));
  return found.length === now.length && found.every((name, index) => name === now[index]);
}

const seeds = { numRuns: 1_000 };

describe('ranges of a listing', () => {
  it('find each blob exactly once, whatever its name and whatever has changed since they were planned', async () => {
    await fc.assert(
      fc.asyncProperty(worlds, (world) => findsAll(world, NO_FAULT)),
      seeds,
    );
  });

  const faults: Readonly<Record<string, Fault>> = {
    'a range is left out': (ranges) => ranges.filter((_, index) => index !== 1),
    'the names behind the last known job are left out': (ranges) => ranges.slice(0, Math.max(1, ranges.length - 1)),
    'the names in front of the first known job are left out': (ranges) =>
      ranges.length > 1 ? ranges.slice(1) : ranges,
    'two ranges overlap': (ranges) => ranges.map((range, index) => (index === 0 ? { ...range, end: '~' } : range)),
    'a range ends with its first page': (ranges) =>
      ranges.map((range) => (range.limit === undefined ? range : { ...range, end: `${range.start ?? 'jobs/'}0` })),
  };
  for (const [name, fault] of Object.entries(faults)) {
    it(`are caught where ${name}`, async () => {
      const { failed } = await fc.check(
        fc.asyncProperty(worlds, (world) => findsAll(world, fault)),
        seeds,
      );
      expect(failed).toBe(true);
    });
  }

  it('meet in front of a job, so that its two blobs are in one', () => {
    fc.assert(
      fc.property(blobs, fc.integer({ min: 1, max: 30 }), (names, pageSize) => {
        for (const { start } of planRanges(inOrder(names), pageSize))
          if (start !== undefined) expect(start).toMatch(/^jobs\/[a-z0-9-]{1,63}\/$/);
      }),
      seeds,
    );
  });
});

describe('a listing of all jobs', () => {
  it('that is split, and cut off anywhere, shows each job whole and once, with the Date of its page', async () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(worlds, cuts, async (world, cutAfter) => {
        const service = listedService(inOrder(world.before), world);
        const list = listerOfAll({ ...world, askPage: service.askPage, pagesAtOnce: 8 }, service.readControl);
        await list(undefined);
        const now = namesNow(world);
        service.hold(now);
        const found = new Map<JobName, unknown>();
        let strays = 0;
        let from: string | undefined;
        for (let part = 0; part === 0 || from !== undefined; part += 1) {
          expect(part).toBeLessThan(1_000);
          const enough = service.afterCalls(cutAfter[part % cutAfter.length] ?? 1);
          const listing = await list({ enough, ...(from !== undefined && { from }) });
          for (const [name, { row, control, date }] of listing.jobs) {
            expect(found.has(name)).toBe(false);
            found.set(name, { row: row !== undefined, control: control !== undefined });
            expect(service.datesOf(`jobs/${name}/${row === undefined ? 'control' : 'lease'}`)).toContain(date);
            if (row !== undefined) expect(date).toBeGreaterThanOrEqual(listing.date);
          }
          strays += listing.strays?.count ?? 0;
          from = listing.continuation;
        }
        const expected = jobsIn(now);
        expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
        expect(strays).toBe(now.filter((name) => ownerOf(name) === undefined).length);
      }),
      { numRuns: 500 },
    );
  });
});

function ownerOf(name: string): { readonly job: string; readonly part: string } | undefined {
  const [, owner, part] = /^jobs\/([a-z0-9-]{1,63})\/(lease|control)$/.exec(name) ?? [];
  return owner === undefined || part === undefined ? undefined : { job: owner, part };
}

function jobsIn(names: readonly string[]): Map<string, { row: boolean; control: boolean }> {
  const jobs = new Map<string, { row: boolean; control: boolean }>();
  for (const name of names) {
    const owner = ownerOf(name);
    if (owner === undefined) continue;
    const known = jobs.get(owner.job) ?? { row: false, control: false };
    jobs.set(owner.job, {
      row: known.row || owner.part === 'lease',
      control: known.control || owner.part === 'control',
    });
  }
  return jobs;
}
