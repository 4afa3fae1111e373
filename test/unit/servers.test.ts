import { expect, it } from 'vitest';
import { isServer } from '../../src/local/servers/servers';

it('knows the servers that dev starts, and no name that every object has', () => {
  expect(['postgres', 'consul', 'embedded', 'toString'].map(isServer)).toEqual([true, true, false, false]);
});
