import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { scratchFolder } from '../../support/scratch';
import { PLANTED } from '../faults/planted';
import { caughtIn, writeCaught } from './caught';
import type { Failure } from './worker';

const root = path.join(__dirname, '../../..');

it('each planted fault has a history that shows it, and no other name has one', () => {
  expect([...caughtIn(root).keys()].toSorted()).toEqual(PLANTED.map(({ name }) => name).toSorted());
});

it('what is found is written by the name of the fault, and nothing for one that was not caught', () => {
  const folder = scratchFolder('caught');
  mkdirSync(path.join(folder, 'docs/evidence/reliability'), { recursive: true });
  const [first, second] = PLANTED;
  if (first === undefined || second === undefined) throw new Error('no faults');
  const failure: Failure = {
    seed: 7,
    mix: 'plain',
    violations: [{ kind: 'claim', job: 'j0', text: 'was claimed twice' }],
  };
  writeCaught(folder, [
    { planted: first, failure, refused: undefined, histories: 7 },
    { planted: second, failure: undefined, refused: undefined, histories: 2_000 },
  ]);
  expect([...caughtIn(folder).values()]).toEqual([{ name: first.name, seed: 7, seen: 'j0: was claimed twice' }]);
});
