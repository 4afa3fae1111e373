import * as z from 'zod';
import { parseDuration } from '../../src/core/duration';
import { defineJob } from '../../src/index';
import { sampleContainer } from './containers';

/** Deletes storage reports that are older, at the due time, than the age in its input. */
export const purgeOldReports = defineJob({
  input: z.strictObject({
    olderThan: z.string().transform((text, context) => {
      const duration = parseDuration(text);
      if (duration !== undefined) return duration;
      context.addIssue({ code: 'custom', message: 'use a duration such as 1d or 12h' });
      return z.NEVER;
    }),
  }),
  run: async ({ scheduledFor, fence, signal, progress }, { olderThan }) => {
    const folder = sampleContainer('reports');
    if (!(await folder.exists({ abortSignal: signal }))) return { deleted: 0 };
    const before = scheduledFor.getTime() - olderThan;
    let deleted = 0;
    for await (const blob of folder.listBlobsFlat({ prefix: 'storage-report/', abortSignal: signal })) {
      if (blob.properties.lastModified.getTime() >= before) continue;
      // A deletion cannot carry a token, so the trust is checked before each one; deleting twice does no harm.
      fence.check();
      await folder.deleteBlob(blob.name, { abortSignal: signal, conditions: { ifMatch: blob.properties.etag } });
      deleted += 1;
      progress(blob.name);
    }
    return { deleted };
  },
});
