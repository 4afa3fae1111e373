import { expect, it } from 'vitest';
import { checkHostileRequests } from '../support/check-hostile';

it('answers 500 hostile requests, made from the OpenAPI document', async () => {
  const statuses = await checkHostileRequests(500, 20_260_101);
  // The requests get past the first checks: otherwise they would prove nothing.
  for (const status of [200, 400, 401, 403, 404, 405])
    expect(statuses.get(status) ?? 0, String(status)).toBeGreaterThan(0);
});
