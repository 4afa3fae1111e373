import type { Document, Node } from 'yaml';
import { isNode, LineCounter, parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { isObject } from '../core/metadata';
import type { Finds, Found, SourceOptions } from './draft';
import { findsIn, ImportError } from './draft';
import type { Manifest } from './k8s-job';
import { addCronJob } from './k8s-job';

/** An action of Helm's templates. Formats such as `{{.Names}}` in an argument are none. */
const HELM =
  /\{\{-?\s*\(?\s*(?:(?:if|else|end|range|with|define|include|template|block|toYaml|tpl|fail|required|default|quote)\b|\$|\.(?:Values|Release|Chart|Capabilities|Files|Template)\b)/;

/**
 * Reads the CronJobs of a manifest: of several documents, and of lists. Objects of other kinds are passed over.
 * @throws ImportError if the file is a template, or no YAML
 */
export function readK8s(file: string, text: string, options: SourceOptions): Found {
  const template = text.split('\n').findIndex((line) => HELM.test(line));
  if (template >= 0) {
    const message = 'this is a Helm template, not a manifest. Render it first: helm template CHART > FILE';
    throw new ImportError({ file, line: template + 1 }, message);
  }
  const lines = new LineCounter();
  const finds = findsIn(file);
  // Kubernetes reads YAML 1.1, where "yes" is true.
  const documents = parseAllDocuments(text, { version: '1.1', lineCounter: lines, prettyErrors: false });
  for (const document of documents) {
    const [error] = document.errors;
    if (error !== undefined) {
      const { line } = lines.linePos(error.pos[0]);
      throw new ImportError({ file, line }, `this is not YAML: ${error.message}`, { cause: error });
    }
    readObject(finds, manifestOf(document, lines, []), options);
  }
  return finds;
}

function manifestOf(document: Document, lines: LineCounter, root: readonly (string | number)[]): Manifest {
  const value: unknown = document.toJS();
  const inner = root.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), value);
  return {
    value: isObject(inner) ? inner : {},
    lineOf(path) {
      for (let length = path.length; length >= 0; length -= 1) {
        const node: unknown = document.getIn([...root, ...path.slice(0, length)], true);
        if (isNode(node)) return lineOfNode(node, lines);
      }
      return 1;
    },
  };
}

function lineOfNode({ range }: Node, lines: LineCounter): number {
  return lines.linePos(range?.[0] ?? 0).line;
}

const kindOf = z.object({ apiVersion: z.string(), kind: z.string() });

function readObject(finds: Finds, manifest: Manifest, options: SourceOptions): void {
  const { data } = kindOf.safeParse(manifest.value);
  if (data === undefined) return;
  const { apiVersion, kind } = data;
  if (kind.endsWith('List') && Array.isArray(manifest.value['items'])) {
    manifest.value['items'].forEach((item: unknown, index) => {
      const value = isObject(item) ? item : {};
      readObject(finds, { value, lineOf: (path) => manifest.lineOf(['items', index, ...path]) }, options);
    });
    return;
  }
  if (kind !== 'CronJob') return;
  if (/^batch\/v1(beta1)?$/.test(apiVersion)) addCronJob(finds, manifest, options);
  else {
    const line = manifest.lineOf(['apiVersion']);
    finds.leaveOut(line, `CronJob of ${apiVersion}`, 'its version is unknown', 'Write apiVersion: batch/v1.');
  }
}
