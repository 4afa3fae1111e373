import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { layoutOf } from '../../src/stores/postgres/schema';

it('docs/reference/stores.md has the statements that create the tables', () => {
  const page = readFileSync(path.join(__dirname, '../../docs/reference/stores.md'), 'utf8');
  const found = /## The statements of PostgreSQL\n\n```sql\n(.*?)\n```/s.exec(page)?.[1];
  expect(found).toBe(`create schema if not exists "cronlease";\n${layoutOf('cronlease')}`);
});
