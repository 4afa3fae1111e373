// Writes schema/jobs.schema.json again, from the zod schema of src/config: npm run schema
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { buildSync } from 'esbuild';

const { outputFiles } = buildSync({
  stdin: {
    contents: "import { jobsJsonSchema } from './src/config/json-schema'; process.stdout.write(jobsJsonSchema());",
    resolveDir: '.',
  },
  bundle: true,
  platform: 'node',
  write: false,
});
writeFileSync('schema/jobs.schema.json', execFileSync(process.execPath, ['-'], { input: outputFiles[0].text }));
