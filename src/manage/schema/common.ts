import * as z from 'zod';
import type { EpochMs } from '../../core/brand';
import { RAN_OUTCOMES, TRIGGERS, UNRUN_OUTCOMES } from '../../core/outcome';

/** The named schemas: the components of the OpenAPI document. */
export const COMPONENTS = z.registry<{ id: string }>();

export function named<Schema extends z.ZodType>(id: string, description: string, schema: Schema): Schema {
  const described = schema.describe(description);
  COMPONENTS.add(described, { id });
  return described;
}

/** As {@link named}, an object with these members. */
export function object<Shape extends z.core.$ZodLooseShape>(id: string, description: string, shape: Shape) {
  return named(id, description, z.object(shape));
}

/** As {@link named}, what a request sends. */
export function body<Shape extends z.core.$ZodLooseShape>(id: string, description: string, shape: Shape) {
  return named(id, description, z.strictObject(shape));
}

/** A number in a query, if it is given. */
export function whole(least: number, most: number) {
  return z.coerce.number().int().min(least).max(most).optional();
}

export function list<Schema extends z.ZodType>(schema: Schema) {
  return z.array(schema).readonly();
}

const JOB_PATTERN = /^[a-z0-9-]{1,63}$/;

const RUN_ID_PATTERN = /^[a-z0-9-]{1,63}-\d{8}T\d{6}(?:\.\d{3})?Z(?:-m-[0-9a-z]{1,64})?$/;

/** Record keys count down from this instant, in the year 2286. */
const LATEST = 1e13;

/** An instant in a body: RFC 3339 with Z or an offset. */
export const dateTime = z.iso.datetime({ offset: true });

/** An instant in a query. */
export const instant = dateTime
  .transform((text): EpochMs => Date.parse(text))
  .refine((at) => at >= 0 && at < LATEST, { message: 'is not between 1970 and 2286' });

export const jobName = z.string().regex(JOB_PATTERN).describe('The name of a job.');

export const tag = z.string().min(1).max(100);

export const oneDeployment = z.strictObject({
  deployment: z
    .string()
    .regex(/^[\x21-\x7e]{1,100}$/)
    .describe('The name of a deployment.'),
});

export const runId = z.string().regex(RUN_ID_PATTERN).describe('The id of a run.');

export const Instant = named('Instant', 'An instant in UTC, in RFC 3339.', z.iso.datetime());

export const Milliseconds = z.int();

export const OUTCOMES = [...RAN_OUTCOMES, ...UNRUN_OUTCOMES, 'running', 'retrying'] as const;

export const RunOutcome = named(
  'Outcome',
  'The outcome of a due time, or `running` or `retrying` while its run is in progress.',
  z.enum(OUTCOMES),
);

export const Reason = z.string().describe('The reason for the outcome: docs/reference/outcomes.md lists them.');

export const Trigger = z.enum(TRIGGERS).describe('The start of the run.');

/** Of every answer to a change. */
export const change = {
  recorded: z
    .boolean()
    .describe('False: the change took place, but its record shows only that it was begun. See `GET audit`.'),
};

/** A note in a request: it becomes metadata. */
export const note = z.string().trim().min(1).max(200);

export const until = dateTime.optional().describe('When the pause ends by itself. Default: when a person ends it.');

export const why = note.optional().describe('Why: shown with the run, and recorded.');

export const Json = named('Json', 'Any JSON.', z.json());
