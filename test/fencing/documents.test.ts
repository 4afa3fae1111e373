import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Token } from '../../src/core/brand';
import { createFence } from '../../src/lease/fence';
import { load } from './page';

const fenceOf = (token: number, trust = { holds: true }) => createFence('a', token as Token, trust, []);
const DAY = '2026-01-01';
type Item = Readonly<Record<string, unknown>>;

/** What both services do with a conditional write, and how the page's recipe uses it. */
interface Model {
  readonly target: object;
  /** What is stored of the day. */
  stored(): Item | undefined;
  /** Another writer does this between the service's look at its condition and the creation of what is missing. */
  beforeCreation(other: Item): void;
}

/** A put that replaces the whole item if its condition holds, checked together: one writer at a time. */
function dynamodb(): Model {
  const items = new Map<unknown, Item>();
  const send = async ({
    input,
  }: {
    input: { Item: Item; ConditionExpression: string; ExpressionAttributeValues: Item };
  }) => {
    const [, missing, compared, value] =
      /^attribute_not_exists\((\w+)\) OR (\w+) <= (:\w+)$/.exec(input.ConditionExpression) ?? [];
    if (missing === undefined || compared === undefined || value === undefined) throw new Error('another condition');
    const item = items.get(input.Item['day']);
    const isMissing = item?.[missing] === undefined;
    if (!isMissing && !(Number(item[compared]) <= Number(input.ExpressionAttributeValues[value]))) {
      throw Object.assign(new Error('refused'), { name: 'ConditionalCheckFailedException' });
    }
    items.set(input.Item['day'], input.Item);
  };
  return { target: { send }, stored: () => items.get(DAY), beforeCreation: (other) => void items.set(DAY, other) };
}

/** An update of the document that the filter matches, or else an insertion, which the unique `_id` may refuse. */
function mongodb(): Model {
  const documents = new Map<unknown, Item>();
  const others: Item[] = [];
  const updateOne = async (
    { _id: id, token }: { _id: string; token: { $lte: number } },
    { $set }: { $set: Item },
    { upsert }: { upsert: boolean },
  ) => {
    const found = documents.get(id);
    if (found !== undefined && Number(found['token']) <= token.$lte) {
      documents.set(id, { ...found, ...$set });
      return;
    }
    const other = others.shift();
    if (other !== undefined) documents.set(id, other);
    if (!upsert) return;
    if (documents.has(id)) throw Object.assign(new Error('E11000 duplicate key'), { code: 11_000 });
    documents.set(id, { _id: id, ...$set });
  };
  const findOne = async ({ _id: id }: { _id: string }) => documents.get(id) ?? null;
  return {
    target: { updateOne, findOne },
    stored: () => documents.get(DAY),
    beforeCreation: (other) => void others.push(other),
  };
}

describe.each([
  ['DynamoDB', 'dynamodb', dynamodb, 'fenceToken'],
  ['MongoDB', 'mongodb', mongodb, 'token'],
] as const)('in a model of %s', (_name, file, open, tokenName) => {
  const { writeTotal } = load(file);
  const write = (target: object, token: number, total: number, trust?: { holds: boolean }): Promise<void> => {
    if (writeTotal === undefined) throw new Error(`examples/fencing.md exports no writeTotal in ${file}`);
    return writeTotal(target, fenceOf(token, trust), DAY, total);
  };

  it('the first, the same and a higher token write, and a lower one is refused', async () => {
    const { target, stored } = open();
    for (const [token, total] of [
      [4, 10],
      [4, 11],
      [5, 12],
    ] as const) {
      await write(target, token, total);
      expect(stored()).toMatchObject({ total, [tokenName]: token });
    }
    await expect(write(target, 4, 13)).rejects.toMatchObject({ code: 'StaleLeader' });
    expect(stored()).toMatchObject({ total: 12, [tokenName]: 5 });
  });

  it('nothing is sent by an attempt that knows that it is over', async () => {
    const { target, stored } = open();
    await expect(write(target, 9, 1, { holds: false })).rejects.toMatchObject({ code: 'StaleLeader' });
    expect(stored()).toBeUndefined();
  });

  it('one whom another writer forestalls compares again', async () => {
    for (const [other, refused] of [
      [3, false],
      [5, true],
    ] as const) {
      const { target, stored, beforeCreation } = open();
      beforeCreation({ _id: DAY, day: DAY, total: 1, [tokenName]: other });
      const written = write(target, 4, 2);
      if (refused) await expect(written).rejects.toMatchObject({ code: 'StaleLeader' });
      else await written;
      expect(stored()).toMatchObject(refused ? { total: 1, [tokenName]: 5 } : { total: 2, [tokenName]: 4 });
    }
  });
});

describe('a file', () => {
  const { writeReport } = load('files');
  const write = (folder: string, token: number, text: string, trust?: { holds: boolean }): Promise<void> => {
    if (writeReport === undefined) throw new Error('examples/fencing.md exports no writeReport');
    return writeReport(folder, fenceOf(token, trust), text);
  };
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'fencing-files-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });
  const name = (token: number): string => `report-${String(token).padStart(16, '0')}.json`;

  it('is there as a whole or not at all, also where it replaces one', async () => {
    writeFileSync(path.join(folder, name(4)), 'before');
    const text = 'x'.repeat(20_000_000);
    let isWritten = false;
    const sizes = new Set<number>();
    const written = write(folder, 4, text).then(() => {
      isWritten = true;
    });
    while (!isWritten) {
      sizes.add(statSync(path.join(folder, name(4))).size);
      await new Promise(setImmediate);
    }
    await written;
    expect([...sizes].filter((size) => size !== text.length)).toEqual(['before'.length]);
    expect(readdirSync(folder)).toEqual([name(4)]);
  });

  it('is left alone by a leader whose trust ends while it writes', async () => {
    await write(folder, 4, 'first');
    const trust = { holds: true };
    const late = write(folder, 4, 'late', trust);
    trust.holds = false;
    await expect(late).rejects.toMatchObject({ code: 'StaleLeader' });
    expect(readdirSync(folder)).toEqual([name(4)]);
    expect(readFileSync(path.join(folder, name(4)), 'utf8')).toBe('first');
  });
});
