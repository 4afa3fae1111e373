import { expect, it } from 'vitest';
import { checkHostileRequests } from '../support/check-hostile';

it('answers 5,000 hostile requests, made from the OpenAPI document', async () => {
  const statuses = await checkHostileRequests(5_000, 7);
  const answered = [...statuses.values()].reduce((sum, count) => sum + count, 0);
  expect(answered).toBe(5_000);
  for (const status of [200, 202, 400, 401, 403, 404, 405, 409, 413]) {
    expect(statuses.get(status) ?? 0, String(status)).toBeGreaterThan(0);
  }
});
