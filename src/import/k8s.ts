import { type Alias, type Document, LineCounter, isCollection, isNode, parseAllDocuments, visit } from 'yaml';
import { isObject } from '../core/metadata';
import { type Finds, type Found, ImportError, type SourceOptions, findsIn } from './draft';
import { type Manifest, type MemberPath, addCronJob, at, parametersOf } from './k8s-job';

/** A line with an action of Helm's templates. */
const HELM =
  /\{\{-?\s*\(?\s*(?:(?:if|else|end|range|with|define|include|template|block|toYaml|tpl|fail|required|default|quote)\b|\$|\/\*|\.(?:Values|Release|Chart|Capabilities|Files|Template)\b)|^\s*(?:- +)*(?:[\w.-]+: +)?\{\{/;

/**
 * Reads the CronJobs of a manifest: of several documents, of lists and OpenShift templates, and within other objects,
 * such as the policies of a cluster manager.
 *
 * @throws ImportError if the file is a template, or no YAML
 */
export function readK8s(file: string, text: string, options: SourceOptions): Found {
  const lines = new LineCounter();
  const finds = findsIn(file);
  // Kubernetes reads YAML 1.1, where "yes" is true.
  const documents = parseAllDocuments(text, { version: '1.1', lineCounter: lines, prettyErrors: false });
  for (const document of documents) {
    const [error] = document.errors;
    const offset = error?.pos[0] ?? collectionAsKey(document);
    if (offset !== undefined) throw unreadable({ file, text, line: lines.linePos(offset).line }, error);
    const value = valueIn(document, lines, { file, text });
    const lineOf = (path: MemberPath): number => lineIn(document, lines, path);
    if (isPatches(value)) {
      const why = 'it is a list of patches, which change objects of other files';
      finds.leaveOut(lineOf([]), 'JSON patches', why, KUSTOMIZE);
    } else if (isObject(value)) readObject(finds, { value, lineOf }, options);
  }
  return finds;
}

function valueIn(document: Document, lines: LineCounter, { file, text }: Omit<Unreadable, 'line'>): unknown {
  const dangling = danglingAlias(document);
  if (dangling !== undefined) {
    const error = new Error(`the alias *${dangling.source} has no anchor before it`);
    throw unreadable({ file, text, line: lines.linePos(dangling.range?.[0] ?? 0).line }, error);
  }
  try {
    return document.toJS();
  } catch (error) {
    // A small file whose aliases would fill the memory.
    if (!(error instanceof ReferenceError)) throw error;
    throw unreadable({ file, text, line: 1 }, error);
  }
}

/** A `*` in front of a text that needs quotes makes it an alias. */
function danglingAlias(document: Document): Alias | undefined {
  let found: Alias | undefined;
  visit(document, {
    Alias(_, alias) {
      if (alias.resolve(document) !== undefined) return undefined;
      found = alias;
      return visit.BREAK;
    },
  });
  return found;
}

interface Unreadable {
  readonly file: string;
  readonly text: string;
  readonly line: number;
}

/** Braces in a text are not a template: only those that leave no YAML are. */
function unreadable({ file, text, line }: Unreadable, error: Error | undefined): ImportError {
  const template = text.split('\n').findIndex((one) => HELM.test(one));
  if (template >= 0) {
    const message = 'this is a Helm template, not a manifest. Render it first: helm template CHART > FILE';
    return new ImportError({ file, line: template + 1 }, message, { cause: error });
  }
  return new ImportError({ file, line }, `this is not YAML: ${error?.message ?? 'a key is not text'}`, {
    cause: error,
  });
}

/** `{{ .Values.x }}` without quotes is a map in a map's key: valid YAML, but nothing of Kubernetes. */
function collectionAsKey(document: Document): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Pair(_, { key }) {
      if (!isCollection(key)) return undefined;
      offset = key.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return offset;
}

function lineIn(document: Document, lines: LineCounter, path: MemberPath): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (isNode(node)) return lines.linePos(node.range?.[0] ?? 0).line;
  }
  return 1;
}

const KUSTOMIZE = 'Render it first: kustomize build FOLDER > FILE';

function readObject(finds: Finds, manifest: Manifest, options: SourceOptions): void {
  const { value } = manifest;
  const { apiVersion, kind } = value;
  const group = typeof apiVersion === 'string' ? apiVersion : '';
  if (kind === 'CronJob' && group !== '') readCronJob(finds, manifest, group, options);
  else if (/^(kustomize\.config\.k8s\.io|$)/.test(group) && isKustomization(value)) {
    const why = 'its resources and patches are other files, and it changes them';
    finds.leaveOut(manifest.lineOf([]), 'Kustomization', why, KUSTOMIZE);
  } else if (typeof kind === 'string') {
    // Workflows of Argo may have several.
    const path = [
      ['spec', 'schedule'],
      ['spec', 'schedules', 0],
    ].find((one) => typeof at(value, one) === 'string');
    if (path !== undefined) {
      const line = manifest.lineOf(path);
      finds.leaveOut(line, `${kind} of ${group}`, 'it has a schedule, but is not a CronJob', 'Write the job by hand.');
    }
    const within = { ...manifest, ...contextOf(kind, manifest) };
    for (const inner of embeddedIn(finds, within)) readObject(finds, inner, options);
  }
}

function readCronJob(finds: Finds, manifest: Manifest, apiVersion: string, options: SourceOptions): void {
  if (!/^batch\/v1(beta1)?$/.test(apiVersion)) {
    const line = manifest.lineOf(['apiVersion']);
    finds.leaveOut(line, `CronJob of ${apiVersion}`, 'its version is unknown', 'Write apiVersion: batch/v1.');
  } else addCronJob(finds, manifest, options);
}

function contextOf(kind: string, { value }: Manifest): Partial<Manifest> {
  if (kind === 'Template' && Array.isArray(value['objects'])) return { parameters: parametersOf(value) };
  if (!kind.endsWith('Policy')) return {};
  return { renderer: 'Write the job by hand: the policy controller fills it in on each cluster.' };
}

function isKustomization(value: Readonly<Record<string, unknown>>): boolean {
  if (value['kind'] !== undefined) return value['kind'] === 'Kustomization';
  return ['resources', 'bases', 'patches', 'patchesStrategicMerge', 'patchesJson6902'].some((key) =>
    Array.isArray(value[key]),
  );
}

function isPatches(value: unknown): boolean {
  return (
    Array.isArray(value) && value.length > 0 && value.every((one) => isObject(one) && 'op' in one && 'path' in one)
  );
}

/** Deeper than any object that a cluster takes. An alias may make a value contain itself. */
const DEEPEST = 50;

/** Where an object has other objects: in a list, a template, a policy or the like. */
function embeddedIn(finds: Finds, manifest: Manifest): readonly Manifest[] {
  const found: Manifest[] = [];
  const look = (value: unknown, path: MemberPath): void => {
    if (path.length > DEEPEST) return;
    if (typeof value === 'string') {
      if (/^\s*(?:- )?"?kind"?:\s*["']?CronJob\b/m.test(value)) noteText(finds, manifest, path);
    } else if (Array.isArray(value)) value.forEach((item: unknown, index) => look(item, [...path, index]));
    else if (isObject(value)) {
      if (path.length > 0 && isWhole(value)) {
        found.push({ ...manifest, value, lineOf: (inner) => manifest.lineOf([...path, ...inner]) });
      } else if (isForbidden(value)) {
        const why = 'the policy demands that the object does not exist';
        finds.leaveOut(manifest.lineOf(path), 'mustnothave: CronJob', why, 'Nothing needs to be done.');
      } else for (const [key, member] of Object.entries(value)) look(member, [...path, key]);
    }
  };
  look(manifest.value, []);
  return found;
}

function noteText(finds: Finds, manifest: Manifest, path: MemberPath): void {
  const why = 'it holds a CronJob as text, which is not read';
  finds.leaveOut(manifest.lineOf(path), path.join('.'), why, 'Import that text as its own file.');
}

/** An object, and not a reference to one. */
function isWhole({ apiVersion, kind, spec, items, objects }: Readonly<Record<string, unknown>>): boolean {
  const isObjectOfKubernetes = typeof apiVersion === 'string' && typeof kind === 'string';
  return isObjectOfKubernetes && (isObject(spec) || Array.isArray(items) || Array.isArray(objects));
}

function isForbidden({ complianceType, objectDefinition }: Readonly<Record<string, unknown>>): boolean {
  const isAbsent = typeof complianceType === 'string' && /^mustnothave$/i.test(complianceType);
  return isAbsent && isObject(objectDefinition) && objectDefinition['kind'] === 'CronJob';
}
