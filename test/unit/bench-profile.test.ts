import { describe, expect, it } from 'vitest';
import { type CpuProfile, cpuByPart, modulesOf } from '../../bench/profile/cpu-profile';
import { partOf } from '../../bench/profile/parts';

const BUNDLE = [
  '"use strict";',
  '// node_modules/saxes/saxes.js',
  'parse();',
  '  // no module',
  '// src/coordinator/tick/tick.ts',
  'tick();',
].join('\n');

const BUNDLES = new Map([['/app/app.js', modulesOf(BUNDLE)]]);
const ALL = { fromUs: 0, throughUs: 2_000_000 };

function node(id: number, functionName: string, url: string, lineNumber: number, children: number[] = []) {
  return { id, callFrame: { functionName, url, lineNumber }, children };
}

describe('a CPU profile by part', () => {
  const profile: CpuProfile = {
    nodes: [
      node(1, '(root)', '', -1, [2, 4, 6, 7, 8]),
      node(2, 'tick', '/app/app.js', 5, [3]),
      node(3, 'now', 'node:internal/perf', 1),
      node(4, 'onread', 'node:internal/stream', 1, [5]),
      node(5, 'parse', 'file:///app/app.js', 2),
      node(6, '(idle)', '', -1),
      node(7, '(garbage collector)', '', -1),
      node(8, 'onread', 'node:internal/stream', 1),
    ],
    startTime: 1_000_000,
    samples: [2, 3, 5, 6, 7, 8, 2],
    timeDeltas: [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000],
  };

  it('counts a module in a bundle as its own, and what Node does as its caller', () => {
    const parts = cpuByPart(profile, BUNDLES, ALL);
    expect(Object.fromEntries([...parts].filter(([, ms]) => ms > 0))).toEqual({
      listing: 4,
      decision: 67,
      'garbage collection': 16,
      "node's HTTP, sockets and timers": 32,
    });
  });

  it('counts a stretch alone', () => {
    const parts = cpuByPart(profile, BUNDLES, { fromUs: 1_001_001, throughUs: 1_007_000 });
    expect(Object.fromEntries([...parts].filter(([, ms]) => ms > 0))).toEqual({ listing: 4, decision: 2 });
  });

  it('finds the modules of a bundle', () => {
    expect(modulesOf(BUNDLE)).toEqual([
      { line: 1, module: 'node_modules/saxes/saxes.js' },
      { line: 4, module: 'src/coordinator/tick/tick.ts' },
    ]);
  });
});

it.each([
  ['src/stores/azure-blob/listing-xml.ts', 'listing'],
  ['src/stores/azure-blob/rows.ts', 'storage SDK'],
  ['/x/node_modules/@azure/core-rest-pipeline/dist/a.js', 'storage SDK'],
  ['node_modules/@azure/functions/dist/a.js', 'Durable SDK'],
  ['src/coordinator/attempt/claim.ts', 'attempt and lease'],
  ['src/coordinator/tick/race.ts', 'hand-over'],
  ['src/core/decide.ts', 'decision'],
  ['src/core/event.ts', 'logging'],
  ['src/local/durable/episodes.ts', 'embedded hub and host'],
  ['bench/record.ts', 'handler'],
  ['node_modules/zod/a.js', 'other'],
  ['node:http', undefined],
])('the part of %s is %s', (module, part) => {
  expect(partOf(module)).toBe(part);
});
