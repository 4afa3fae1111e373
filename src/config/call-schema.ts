import * as z from 'zod';
import { CALL_METHODS } from '../core/call';
import { json } from './readers';

export const callSchema = z
  .strictObject({
    url: z
      .string()
      .min(1)
      .meta({
        description: 'The https address. The app setting `CRONLEASE_CALL_HOSTS` must list its host.',
        examples: ['https://billing.example.com/api/close'],
      }),
    method: z.enum(CALL_METHODS).describe('The HTTP method.').prefault('POST'),
    headers: z
      .record(z.string(), z.string())
      .meta({ description: 'Headers by name.', examples: [{ 'x-functions-key': '%BILLING_KEY%' }] })
      .prefault({}),
    body: z.unknown().check(json).describe('JSON, or a string, which is sent as it is. Default: none.').optional(),
    identity: z
      .string()
      .min(1)
      .meta({
        description: "The audience for which a token of the app's managed identity is sent. Default: none.",
        examples: ['api://billing', 'https://management.azure.com'],
      })
      .optional(),
    expect: z
      .array(z.int().min(200).max(599))
      .min(1)
      .meta({ description: 'The statuses that count as success. Default: 200 to 299.', examples: [[200, 404]] })
      .optional(),
  })
  .describe(
    'An HTTP request instead of a handler. `%NAME%` in its strings is replaced by an app setting when the app starts, and `{scheduledFor}`, `{scheduledFor:date}`, `{runId}`, `{attempt}`, `{token}` and `{input.NAME}` by each attempt. Default: none.',
  );
