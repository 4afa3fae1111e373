import * as z from 'zod';
import { CALL_METHODS } from '../core/call';
import { json } from './readers';

export const callSchema = z
  .strictObject({
    url: z
      .string()
      .min(1)
      .meta({
        description: 'The address, over https. Its host is in the app setting `CRONLEASE_CALL_HOSTS`.',
        examples: ['https://billing.example.com/api/close'],
      }),
    method: z.enum(CALL_METHODS).describe('The HTTP method.').prefault('POST'),
    headers: z
      .record(z.string(), z.string())
      .meta({ description: 'Headers by name.', examples: [{ 'x-functions-key': '%BILLING_KEY%' }] })
      .prefault({}),
    body: z.unknown().check(json).describe('JSON, or text, which is sent as it is. Default: none.').optional(),
    identity: z
      .string()
      .min(1)
      .meta({
        description: "The audience of a token of the app's managed identity, which is sent. Default: none.",
        examples: ['api://billing', 'https://management.azure.com'],
      })
      .optional(),
    expect: z
      .array(z.int().min(200).max(599))
      .min(1)
      .meta({ description: 'The statuses that are a success. Default: 200 to 299.', examples: [[200, 404]] })
      .optional(),
  })
  .describe(
    'An HTTP request in place of a handler. `%NAME%` in its texts reads an app setting when the app starts. `{scheduledFor}`, `{scheduledFor:date}`, `{runId}`, `{attempt}`, `{token}` and `{input.NAME}` are filled in by each attempt. Default: none.',
  );
