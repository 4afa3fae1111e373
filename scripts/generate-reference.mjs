// Writes the generated tables of docs/reference, docs/evidence and schema/openapi.json again, from the sources: npm run reference
import { execFileSync } from 'node:child_process';
import { buildSync } from 'esbuild';

const { outputFiles } = buildSync({
  stdin: {
    contents: `
      import { readFileSync, writeFileSync } from 'node:fs';
      import { OPENAPI_FILE, openApiText } from './scripts/openapi';
      import { REFERENCE_PAGES, withTables } from './scripts/reference';
      void openApiText().then((text) => writeFileSync(OPENAPI_FILE, text));
      for (const file of REFERENCE_PAGES) {
        void withTables('.', file, readFileSync(file, 'utf8')).then((text) => writeFileSync(file, text));
      }`,
    resolveDir: '.',
  },
  bundle: true,
  platform: 'node',
  packages: 'external',
  write: false,
});
execFileSync(process.execPath, ['-'], { input: outputFiles[0].text, stdio: ['pipe', 'inherit', 'inherit'] });
