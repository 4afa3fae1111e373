import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { scratchFolder } from '../../support/scratch';
import { PLANTED, type Planted } from '../faults/planted';
import { caughtIn, writeCaught } from './caught';
import type { Caught } from './search';
import type { Failure } from './worker';

const root = path.join(__dirname, '../../..');

it('each planted fault has a history that shows it, and no other name has one', () => {
  expect([...caughtIn(root).keys()].toSorted()).toEqual(PLANTED.map(({ name }) => name).toSorted());
});

it('what is found is written by the name of the fault, beside what was found before', () => {
  const folder = scratchFolder('caught');
  mkdirSync(path.join(folder, 'docs/evidence/reliability'), { recursive: true });
  const [first, second] = PLANTED;
  if (first === undefined || second === undefined) throw new Error('no faults');
  const failure: Failure = {
    seed: 7,
    mix: 'plain',
    violations: [{ kind: 'claim', job: 'j0', text: 'was claimed twice' }],
  };
  const result = (planted: Planted, seed?: number): Caught => ({
    ...{ planted, refused: undefined, histories: 7 },
    failure: seed === undefined ? undefined : { ...failure, seed },
  });
  const seeds = () => [...caughtIn(folder).values()].map(({ name, seed, seen }) => [name, seed, seen]);
  writeCaught(folder, [result(first, 7), result(second)]);
  expect(seeds()).toEqual([[first.name, 7, 'j0: was claimed twice']]);
  writeCaught(folder, [result(second, 8)]);
  expect(seeds().map(([name, seed]) => [name, seed])).toEqual([
    [first.name, 7],
    [second.name, 8],
  ]);
});
