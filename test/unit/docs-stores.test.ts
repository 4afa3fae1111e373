import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { layoutOf } from '../../src/stores/postgres/schema';

it('docs/reference/postgres.sql has the statements that create the tables', () => {
  const found = readFileSync(path.join(__dirname, '../../docs/reference/postgres.sql'), 'utf8');
  expect(found).toBe(`create schema if not exists "cronlease";\n${layoutOf('cronlease')}\n`);
});
