import type * as z from 'zod';
import { formatPath } from '../config/config-error';
import { isObject } from '../core/metadata';
import { RequestError, type RequestIssue } from './problem';

/** The part of a request that a schema reads. */
export type Part = 'path' | 'query' | 'body';

/** The most errors to list. */
const MOST = 20;

/** Reads a part of a request. Throws {@link RequestError} with every error of it. */
export function parsePart<Schema extends z.ZodType>(schema: Schema, part: Part, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, MOST).flatMap((issue) => issuesOf(issue, part, value));
  const [first, ...more] = issues;
  if (first === undefined) throw new Error('a schema refused a value without a reason');
  throw new RequestError(400, 'InvalidRequest', [first, ...more]);
}

function issuesOf(issue: z.core.$ZodIssue, part: Part, value: unknown): readonly RequestIssue[] {
  const place = (name: string): string => (name === '$' ? part : `${part}: ${name}`);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, MOST).map((key) => ({
      place: place(formatPath([...pathOf(issue), key])),
      value: textOf(member(value, [...pathOf(issue), key])),
      problem: 'is not known here',
      remedy: 'leave it out',
    }));
  }
  const path = pathOf(issue);
  const found = member(value, path);
  return [{ place: place(formatPath(path)), value: textOf(found), ...wordsOf(issue, found === undefined) }];
}

function wordsOf(issue: z.core.$ZodIssue, isMissing: boolean): Pick<RequestIssue, 'problem' | 'remedy'> {
  switch (issue.code) {
    case 'invalid_type':
      return {
        problem: isMissing ? 'is missing' : 'has the wrong type',
        remedy: `send a value of type ${issue.expected}`,
      };
    case 'invalid_value':
      return { problem: 'is not one of the known values', remedy: `use ${issue.values.map(String).join(', ')}` };
    case 'too_big':
      return { problem: 'is too large or too long', remedy: `use at most ${String(issue.maximum)}` };
    case 'too_small':
      return { problem: 'is too small or too short', remedy: `use at least ${String(issue.minimum)}` };
    case 'invalid_format':
      return {
        problem: 'does not have the right form',
        remedy: issue.format === 'datetime' ? 'use a time such as 2026-01-31T03:00:00Z' : `see the OpenAPI document`,
      };
    default:
      return { problem: issue.message, remedy: 'see the OpenAPI document' };
  }
}

function pathOf(issue: z.core.$ZodIssue): readonly (string | number)[] {
  return issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
}

function member(value: unknown, path: readonly (string | number)[]): unknown {
  let found: unknown = value;
  for (const key of path) {
    if (Array.isArray(found) && typeof key === 'number') found = found[key];
    else if (isObject(found) && Object.hasOwn(found, key)) found = found[key];
    else return undefined;
  }
  return found;
}

function textOf(value: unknown): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
