import * as z from 'zod';
import { COMPONENTS, Job } from './schema';

const Lane = z
  .object({
    ...Job.pick({ name: true, state: true, detail: true, tags: true, timeZone: true, lastRun: true }).shape,
    ...Job.pick({ recent: true, failures: true, currentRun: true, nextDueAt: true, pause: true }).shape,
    offsetMs: z.int().describe('The delay of every due time by `spread`.'),
    medianMs: z.int().nullable().describe('The middle one of its last durations. Null: none is known.'),
    planned: z
      .array(z.iso.datetime())
      .readonly()
      .describe('When its next due times start, oldest first: up to 200. None while it is paused or disabled.'),
    isComplete: z.boolean().describe('Whether `planned` has all due times of the window.'),
  })
  .describe('A job with what it has done and will do around now.');

export const Lanes = z
  .object({
    now: z.iso.datetime().describe("The storage service's time."),
    lanes: z.array(Lane).readonly().describe('The worst first.'),
    busy: z.int().describe('How many of the jobs that were asked for have anything in the window.'),
    empty: z.int().describe('How many of them have nothing in it, and no lane.'),
  })
  .describe('The jobs that have run, or will run, around now.');

COMPONENTS.add(Lane, { id: 'Lane' });
COMPONENTS.add(Lanes, { id: 'Lanes' });
