import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { layoutOf } from '../../src/stores/postgres/schema';

it('docs/explanation/choosing-a-store.md has the statements that create the tables', () => {
  const page = readFileSync(path.join(__dirname, '../../docs/explanation/choosing-a-store.md'), 'utf8');
  const found = /## The statements of PostgreSQL\n\n```sql\n(.*?)\n```/s.exec(page)?.[1];
  expect(found).toBe(`create schema if not exists "cronlease";\n${layoutOf('cronlease')}`);
});
