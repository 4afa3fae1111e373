import type * as z from 'zod';
import type { jobSchema } from './schema';

/** A job as the file has it. */
export type JobInFile = z.input<typeof jobSchema>;
