// Writes schema/jobs.schema.json anew. From the repository's root:
//   npx esbuild scripts/generate-schema.ts --bundle --platform=node | node
import { writeFileSync } from 'node:fs';
import { jobsJsonSchema } from '../src/config/json-schema';

writeFileSync('schema/jobs.schema.json', jobsJsonSchema());
