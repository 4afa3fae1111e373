import { isObject } from '../core/metadata';
import type { Finds } from './draft';

export type MemberPath = readonly (string | number)[];

/** An object of a manifest, with the lines of its members. */
export interface Manifest {
  readonly value: Readonly<Record<string, unknown>>;
  /** The line of a member, or of the nearest one around it that exists. */
  lineOf(path: MemberPath): number;
  /** Those of the template around it. */
  readonly parameters?: Parameters;
  /** The remedy for a template in a setting, if it is none of Helm. */
  readonly renderer?: string;
}

/** The members of a CronJob that become settings: a template in any other one is text. */
const JOB_SPEC = ['spec', 'jobTemplate', 'spec'];
const SETTINGS: readonly MemberPath[] = [
  ['metadata', 'name'],
  ['metadata', 'generateName'],
  ...['schedule', 'timeZone', 'concurrencyPolicy', 'startingDeadlineSeconds', 'suspend'].map((key) => ['spec', key]),
  ...['backoffLimit', 'activeDeadlineSeconds'].map((key) => [...JOB_SPEC, key]),
];

/** Parameters of an OpenShift template, with the values that they have unless others are given. */
export type Parameters = ReadonlyMap<string, string | undefined>;

const PARAMETER = /\$\{(?:\{(?<raw>\w+)\}|(?<name>\w+))\}/g;

export function parametersOf(template: Readonly<Record<string, unknown>>): Parameters {
  const given = Array.isArray(template['parameters']) ? template['parameters'].filter(isObject) : [];
  return new Map(given.map(({ name, value }) => [textOf(name) ?? '', textOf(value)]));
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : typeof value === 'string'
      ? value
      : undefined;
}

/** A CronJob with its parameters filled in; undefined after a note that a setting of it is not known. */
export function filledIn(finds: Finds, manifest: Manifest): Manifest | undefined {
  const { parameters, value } = manifest;
  const name = textOf(at(value, ['metadata', 'name'])) ?? 'CronJob';
  for (const path of SETTINGS) {
    const text = at(value, path);
    if (typeof text !== 'string') continue;
    const what = `${name}: ${path.at(-1) ?? ''} ${JSON.stringify(text)}`;
    if (text.includes('{{') && !/^\$\{\{\w+\}\}$/.test(text)) {
      finds.leaveOut(manifest.lineOf(path), what, 'it is a template', manifest.renderer ?? HELM_RENDERS);
      return undefined;
    }
    for (const parameter of namesIn(text, parameters)) {
      const known = parameters?.get(parameter);
      if (known === undefined) {
        const why = `the parameter ${parameter} of the template has no value`;
        finds.leaveOut(manifest.lineOf(path), what, why, `Render it first: ${OC_PROCESS} -p ${parameter}=VALUE > FILE`);
        return undefined;
      }
      const why = `a jobs file has no parameters, so the job has the value that ${parameter} has by default: ${JSON.stringify(known)}`;
      finds.note(manifest.lineOf(path), what, why, `If it has another one, render the template: ${OC_PROCESS} > FILE`);
    }
  }
  if (parameters === undefined) return manifest;
  const filled = replaced(value, parameters);
  return { ...manifest, value: isObject(filled) ? filled : {} };
}

const HELM_RENDERS = 'Render it first: helm template CHART > FILE';
const OC_PROCESS = 'oc process -f TEMPLATE';

function namesIn(text: string, parameters: Parameters | undefined): readonly string[] {
  if (parameters === undefined) return [];
  return [...text.matchAll(PARAMETER)].map(({ groups }) => groups?.['raw'] ?? groups?.['name'] ?? '');
}

/** `${NAME}` is text, and `${{NAME}}` a value of JSON. A parameter without a value stays as it is written. */
function replaced(value: unknown, parameters: Parameters): unknown {
  if (Array.isArray(value)) return value.map((item) => replaced(item, parameters));
  if (isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaced(inner, parameters)]));
  }
  if (typeof value !== 'string') return value;
  const raw = /^\$\{\{(\w+)\}\}$/.exec(value)?.[1];
  const known = raw === undefined ? undefined : parameters.get(raw);
  if (known !== undefined) return jsonOrText(known);
  return value.replaceAll(
    PARAMETER,
    (all, inBraces?: string, name?: string) => parameters.get(inBraces ?? name ?? '') ?? all,
  );
}

function jsonOrText(text: string): unknown {
  return /^(?:true|false|-?\d+(?:\.\d+)?)$/.test(text) ? JSON.parse(text) : text;
}

/** The member at a path. */
export function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => {
    if (Array.isArray(inner)) return inner[Number(key)];
    return isObject(inner) ? inner[String(key)] : undefined;
  }, value);
}
