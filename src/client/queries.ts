// Only types, as in types.ts.
import type * as z from 'zod';
import type * as schema from '../manage/schema';

export type Runs = z.output<typeof schema.RunsQuery>;
export type Timeline = z.output<typeof schema.TimelineQuery>;
export type DueTimes = z.output<typeof schema.DueTimesQuery>;
