import { format, resolveConfig } from 'prettier';
import type { CountedTable } from '../test/support/count-situations';

/** The counted calls, which `npm run calls` writes. */
export const CALLS_FILE = 'src/operator/cost/counted-calls.ts';

/** The text of {@link CALLS_FILE} for these counts. */
export async function callsText(counted: CountedTable): Promise<string> {
  const text = `import type { CountedCalls } from './situation';

/**
 * The calls to storage of each situation, counted on the emulator. Generated: \`npm run calls\` counts and writes them
 * again, and test/e2e/storage-calls.long.test.ts compares them with new counts.
 */
export const COUNTED_CALLS: CountedCalls = ${JSON.stringify(counted)};
`;
  return format(text, { ...(await resolveConfig(CALLS_FILE)), parser: 'typescript' });
}
