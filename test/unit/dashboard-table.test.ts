import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

beforeAll(() => void vi.stubGlobal('location', { search: '', hash: '' }));
afterAll(() => vi.unstubAllGlobals());

it('a column without a width of its own leaves it to its class', async () => {
  const { Table } = (await import(/* @vite-ignore */ path.join(__dirname, '../../src/dashboard/parts/parts.tsx'))) as {
    Table(props: object): unknown;
  };
  const columns = [
    ['Item', 'i-item'],
    ['Attempts', 'i-calls', 100],
  ];
  const drawn = JSON.stringify(Table({ name: 'Items', kind: 'items', columns, children: [] }));
  expect(drawn.match(/"style":\{[^}]*\}/g)).toEqual(['"style":{}', '"style":{"width":"100px"}']);
});
