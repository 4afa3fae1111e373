import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Language, type Node, Parser } from 'web-tree-sitter';

export const ROOT = path.join(__dirname, '../..');

/** One file of `infra/`, as far as the checks look at it. */
export interface Template {
  /** As in `infra/modules/deployment.bicep`. */
  readonly file: string;
  readonly source: string;
  readonly root: Node;
  /** By name. Those of a parameter file have values and no types. */
  readonly parameters: ReadonlyMap<string, Parameter>;
  readonly variables: ReadonlyMap<string, Node>;
  readonly functions: ReadonlyMap<string, BicepFunction>;
  readonly resources: readonly Resource[];
  readonly modules: readonly Module[];
  readonly outputs: ReadonlyMap<string, Node>;
  /** What a parameter file is for. */
  readonly using: string | undefined;
}

export interface Parameter {
  readonly type: string;
  readonly value: Node | undefined;
}

export interface BicepFunction {
  readonly parameters: readonly string[];
  readonly body: Node;
}

export interface Resource {
  readonly symbol: string;
  readonly type: string;
  readonly version: string;
  readonly existing: boolean;
  /** Through loop and condition. */
  readonly body: Node;
}

export interface Module {
  readonly symbol: string;
  /** Relative to the file that calls it. */
  readonly path: string;
  readonly body: Node;
}

export type Templates = ReadonlyMap<string, Template>;

let ready: Promise<Parser> | undefined;

async function bicepParser(): Promise<Parser> {
  await Parser.init();
  const require = createRequire(__filename);
  const grammar = require.resolve('tree-sitter-bicep/tree-sitter-bicep.wasm');
  return new Parser().setLanguage(await Language.load(grammar));
}

/** The text of every template and parameter file, by name. */
export function readSources(): Map<string, string> {
  const files = readdirSync(path.join(ROOT, 'infra'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.bicep(param)?$/.test(file))
    .map((file) => `infra/${file}`)
    .toSorted();
  return new Map(files.map((file) => [file, readFileSync(path.join(ROOT, file), 'utf8')]));
}

export async function parseTemplates(sources: ReadonlyMap<string, string>): Promise<Templates> {
  ready ??= bicepParser();
  const parser = await ready;
  const templates = [...sources].map(([file, source]): [string, Template] => [
    file,
    parseTemplate(parser, file, source),
  ]);
  return new Map(templates);
}

function parseTemplate(parser: Parser, file: string, source: string): Template {
  // The grammar knows parameter files by half: an assignment reads as a variable of the same length.
  const text = file.endsWith('.bicepparam') ? source.replace(/^param(?= )/gm, 'var  ') : source;
  const tree = parser.parse(text);
  if (tree === null) throw new Error(`${file} was not parsed`);
  const root = tree.rootNode;
  const declared = <T>(type: string, read: (node: Node) => T): [string, T][] =>
    childrenOf(root)
      .filter((node) => node.type === type)
      .map((node) => [childrenOf(node)[0]?.text ?? '', read(node)]);
  const variables = new Map(declared('variable_declaration', lastChild));
  const isParameterFile = text !== source;
  return {
    ...{ file, source, root },
    parameters: new Map(
      isParameterFile
        ? [...variables].map(([name, value]) => [name, { type: '', value }])
        : declared('parameter_declaration', (node) => {
            const [, type, value] = childrenOf(node);
            return { type: type?.text ?? '', value };
          }),
    ),
    variables: isParameterFile ? new Map<string, Node>() : variables,
    functions: new Map(
      declared('user_defined_function', (node) => ({
        parameters: childrenOf(childrenOf(node)[1]).map((parameter) => childrenOf(parameter)[0]?.text ?? ''),
        body: lastChild(node),
      })),
    ),
    resources: childrenOf(root).flatMap((node) => (node.type === 'resource_declaration' ? resourcesOf(node) : [])),
    modules: declared('module_declaration', (node) => node).map(([symbol, node]) => ({
      symbol,
      path: literal(childrenOf(node)[1]) ?? '',
      body: bodyOf(node),
    })),
    outputs: new Map(declared('output_declaration', lastChild)),
    using: literal(
      childrenOf(root)
        .find((node) => node.type === 'using_statement')
        ?.namedChild(0) ?? undefined,
    ),
  };
}

/** A resource and those nested in it. */
function resourcesOf(node: Node, outer?: Resource): Resource[] {
  const [symbol, reference] = childrenOf(node);
  const [type = '', version = outer?.version ?? ''] = (literal(reference) ?? '').split('@');
  const body = bodyOf(node);
  const resource: Resource = {
    symbol: symbol?.text ?? '',
    type: outer === undefined ? type : `${outer.type}/${type}`,
    version,
    existing: node.children.some((child) => child?.type === 'existing'),
    body,
  };
  const nested = childrenOf(body)
    .flatMap(childrenOf)
    .filter((child) => child.type === 'resource_declaration');
  return [resource, ...nested.flatMap((child) => resourcesOf(child, resource))];
}

/** The object that a resource or module is made of, through loop and condition. */
function bodyOf(node: Node): Node {
  if (node.type === 'object') return node;
  return bodyOf(node.childForFieldName('body') ?? lastChild(node));
}

/** All nodes, this one first. */
export function nodesOf(node: Node): Node[] {
  return [node, ...childrenOf(node).flatMap(nodesOf)];
}

/** What a node is made of, comments and decorators left out. */
export function childrenOf(node: Node | undefined): Node[] {
  const apart = ['comment', 'diagnostic_comment', 'decorators'];
  return (node?.namedChildren ?? []).filter((child): child is Node => child !== null && !apart.includes(child.type));
}

function lastChild(node: Node): Node {
  const last = childrenOf(node).at(-1);
  if (last === undefined) throw new Error(`${node.type} "${node.text}" is empty`);
  return last;
}

/** The members of an object, by name. */
export function membersOf(object: Node | undefined): Map<string, Node> {
  const pairs = childrenOf(object).flatMap((pair): [string, Node][] => {
    const [key, value] = pair.type === 'object_property' ? childrenOf(pair) : [];
    return key === undefined || value === undefined ? [] : [[literal(key) ?? key.text, value]];
  });
  return new Map(pairs);
}

/** A member of a member of … an object. */
export function member(object: Node | undefined, ...names: readonly string[]): Node | undefined {
  return names.reduce<Node | undefined>((at, name) => membersOf(at).get(name), object);
}

/** A string without interpolation; else undefined. */
export function literal(node: Node | undefined): string | undefined {
  if (node?.type !== 'string' || childrenOf(node).some((part) => part.type === 'interpolation')) return undefined;
  const text = node.text;
  if (text.startsWith("'''")) return text.slice(3, -3).replace(/^\r?\n/, '');
  return text.slice(1, -1).replaceAll(/\\(.)/g, '$1');
}
