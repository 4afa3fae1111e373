import * as z from 'zod';
import { fileSchema } from './schema';

/** The JSON Schema of jobs.json, as text: draft 7, which editors support best. */
export function jobsJsonSchema(): string {
  const schema = z.toJSONSchema(fileSchema, {
    target: 'draft-7',
    io: 'input',
    override: ({ jsonSchema }) => {
      // JavaScript's limit of whole numbers does not help an author.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
