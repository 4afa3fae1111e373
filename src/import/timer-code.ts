import { SourceMap, stripTypeScriptTypes } from 'node:module';
import type { Node, ObjectExpression, Program } from 'acorn';
import { parse } from 'acorn';
import { ImportError } from './draft';

/** A value that an app setting gives, and the one that it has without. */
export class FromSetting {
  constructor(
    readonly name: string,
    readonly fallback: unknown,
  ) {}
}

/** A value that only a run of the program would show. */
export const UNKNOWN = Symbol('unknown');

/** A call `app.timer(name, options)`. */
export interface TimerCall {
  readonly line: number;
  readonly name: unknown;
  /** The members of the options; undefined if they are computed. */
  readonly options: ReadonlyMap<string, unknown> | undefined;
}

const PACKAGE = '@azure/functions';

/**
 * The timers that a source in JavaScript or TypeScript registers, by its syntax: `app` may have another name.
 * @throws ImportError if the file is neither
 */
export function timerCalls(file: string, text: string): readonly TimerCall[] {
  const { program, lineOf } = parseSource(file, text);
  const names = namesOf(program);
  const calls: TimerCall[] = [];
  walk(program, (node) => {
    if (node.type !== 'CallExpression') return;
    const { callee, arguments: given } = node as unknown as Call;
    if (!isTimer(callee, names)) return;
    const [name, options] = given;
    calls.push({
      line: lineOf(node),
      name: name === undefined ? UNKNOWN : valueOf(name, names.constants),
      options: options === undefined ? undefined : membersOf(options, names.constants),
    });
  });
  return calls;
}

interface Parsed {
  readonly program: Program;
  lineOf(node: Node): number;
}

function parseSource(file: string, text: string): Parsed {
  const isTypeScript = /\.[cm]?ts$/.test(file);
  const { code, lineAt } = isTypeScript ? withoutTypes(file, text) : { code: text, lineAt: (line: number) => line };
  const options = {
    ecmaVersion: 'latest',
    locations: true,
    allowReturnOutsideFunction: true,
    allowHashBang: true,
  } as const;
  const lineOf = (node: Node): number => lineAt(node.loc?.start.line ?? 1, node.loc?.start.column ?? 0);
  try {
    return { program: parse(code, { ...options, sourceType: 'module' }), lineOf };
  } catch {
    // A script may use words that a module reserves. Its error is the one to report.
    try {
      return { program: parse(code, { ...options, sourceType: 'script' }), lineOf };
    } catch (error) {
      const { loc, message } = error as SyntaxError & { readonly loc?: { readonly line: number } };
      throw new ImportError({ file, line: loc?.line ?? 1 }, `it cannot be parsed: ${message}`, { cause: error });
    }
  }
}

interface JavaScript {
  readonly code: string;
  /** The line in the TypeScript, of a place in the JavaScript. */
  lineAt(line: number, column: number): number;
}

/** Node's own removal of types keeps every place; enums and the like need its transformation. */
function withoutTypes(file: string, text: string): JavaScript {
  if (typeof stripTypeScriptTypes !== 'function') {
    throw new ImportError(
      { file, line: 1 },
      'reading TypeScript needs Node 22.13 or later. Name its compiled JavaScript instead',
    );
  }
  try {
    return { code: quietly(() => stripTypeScriptTypes(text)), lineAt: (line) => line };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    if (error.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw unparsed(file, error);
  }
  try {
    return transformed(quietly(() => stripTypeScriptTypes(text, { mode: 'transform', sourceMap: true })));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw unparsed(file, error);
  }
}

function unparsed(file: string, error: Error): ImportError {
  return new ImportError({ file, line: 1 }, `it cannot be parsed: ${error.message.trim()}`, { cause: error });
}

function transformed(code: string): JavaScript {
  const [, base64 = ''] = /\/\/# sourceMappingURL=data:application\/json;base64,(\S+)\s*$/.exec(code) ?? [];
  const map = new SourceMap(JSON.parse(Buffer.from(base64, 'base64').toString()) as never);
  return {
    code,
    lineAt(line, column) {
      const entry = map.findEntry(line - 1, column);
      return 'originalLine' in entry ? entry.originalLine + 1 : line;
    },
  };
}

/** Without Node's warning that the function is new: it is about the code of this package, not about the user's. */
function quietly<Value>(act: () => Value): Value {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return act();
  } finally {
    process.emitWarning = emitWarning;
  }
}

interface Call {
  readonly callee: Node;
  readonly arguments: readonly Node[];
}

interface Names {
  /** Names of `app` of the package. */
  readonly apps: ReadonlySet<string>;
  /** Names of the package as a whole. */
  readonly wholes: ReadonlySet<string>;
  readonly constants: ReadonlyMap<string, Node>;
}

/** ESTree, as far as it is read here. */
type Loose = Node & Readonly<Record<string, unknown>>;

function isNode(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function walk(node: Node, visit: (node: Loose) => void): void {
  if (!isNode(node)) return;
  visit(node);
  for (const member of Object.values(node)) {
    if (Array.isArray(member)) for (const item of member) walk(item as Node, visit);
    else if (isNode(member)) walk(member, visit);
  }
}

function namesOf(program: Program): Names {
  const apps = new Set<string>();
  const wholes = new Set<string>();
  const constants = new Map<string, Node>();
  const bind = (imported: string, local: string): void => {
    if (imported === 'app') apps.add(local);
    else if (imported === '*') wholes.add(local);
  };
  walk(program, (node) => {
    if (node.type === 'ImportDeclaration' && literal(node['source']) === PACKAGE) {
      for (const one of nodes(node['specifiers'])) {
        const imported = one.type === 'ImportSpecifier' ? nameOf(one['imported']) : '*';
        bind(imported, nameOf(one['local']));
      }
    }
    if (node.type !== 'VariableDeclarator' || !isNode(node['id']) || !isNode(node['init'])) return;
    const { id, init } = node as Loose & { readonly id: Loose; readonly init: Loose };
    if (!isRequire(init)) {
      if (id.type === 'Identifier') constants.set(nameOf(id), init);
    } else if (id.type === 'Identifier') wholes.add(nameOf(id));
    else for (const one of nodes(id['properties'])) bind(nameOf(one['key']), nameOf(one['value']));
  });
  return { apps, wholes, constants };
}

function isRequire(node: Loose): boolean {
  return (
    node.type === 'CallExpression' &&
    nameOf(node['callee']) === 'require' &&
    literal(nodes(node['arguments'])[0]) === PACKAGE
  );
}

/** Whether a callee is `app.timer`, or `functions.app.timer`. */
function isTimer(callee: Node, { apps, wholes }: Names): boolean {
  if (!isNode(callee) || callee.type !== 'MemberExpression' || memberOf(callee) !== 'timer') return false;
  const { object } = callee;
  if (!isNode(object)) return false;
  if (object.type === 'Identifier') return apps.has(nameOf(object));
  return object.type === 'MemberExpression' && memberOf(object) === 'app' && wholes.has(nameOf(object['object']));
}

function nodes(value: unknown): readonly Loose[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

function nameOf(node: unknown): string {
  if (!isNode(node)) return '';
  if (node.type === 'Identifier') return String(node['name']);
  const text = literal(node);
  return typeof text === 'string' ? text : '';
}

/** The name of a member that is written: `a.b`, or `a['b']`. */
function memberOf(node: Loose): string | undefined {
  if (node['computed'] !== true) return nameOf(node['property']);
  const text = literal(node['property']);
  return typeof text === 'string' ? text : undefined;
}

function literal(node: unknown): unknown {
  return isNode(node) && node.type === 'Literal' ? node['value'] : undefined;
}

/** The value of an expression, as far as its text alone gives it. */
function valueOf(expression: Node, constants: ReadonlyMap<string, Node>, depth = 0): unknown {
  if (!isNode(expression) || depth > 20) return UNKNOWN;
  const inner = (node: unknown): unknown => (isNode(node) ? valueOf(node, constants, depth + 1) : UNKNOWN);
  switch (expression.type) {
    case 'Literal':
      return expression['value'];
    case 'TemplateLiteral': {
      const [quasi, ...rest] = nodes(expression['quasis']);
      const { cooked } = (quasi?.['value'] ?? {}) as { readonly cooked?: string };
      return rest.length === 0 && cooked !== undefined ? cooked : UNKNOWN;
    }
    case 'Identifier': {
      const constant = constants.get(nameOf(expression));
      return constant === undefined ? UNKNOWN : inner(constant);
    }
    case 'UnaryExpression': {
      const value = inner(expression['argument']);
      return expression['operator'] === '-' && typeof value === 'number' ? -value : UNKNOWN;
    }
    case 'LogicalExpression': {
      const left = inner(expression['left']);
      return left instanceof FromSetting ? new FromSetting(left.name, inner(expression['right'])) : UNKNOWN;
    }
    case 'MemberExpression':
      return isEnvironment(expression['object']) ? new FromSetting(memberOf(expression) ?? '', undefined) : UNKNOWN;
    case 'ObjectExpression':
      return membersOf(expression, constants, depth + 1) ?? UNKNOWN;
    default:
      return UNKNOWN;
  }
}

function isEnvironment(node: unknown): boolean {
  return (
    isNode(node) && node.type === 'MemberExpression' && nameOf(node['object']) === 'process' && memberOf(node) === 'env'
  );
}

/** The members of an object expression, also of one behind a constant; undefined if some are not written there. */
function membersOf(
  expression: Node,
  constants: ReadonlyMap<string, Node>,
  depth = 0,
): ReadonlyMap<string, unknown> | undefined {
  if (!isNode(expression) || depth > 20) return undefined;
  if (expression.type === 'Identifier') {
    const constant = constants.get(nameOf(expression));
    return constant && membersOf(constant, constants, depth + 1);
  }
  if (expression.type !== 'ObjectExpression') return undefined;
  const { properties } = expression as unknown as ObjectExpression;
  const members = new Map<string, unknown>();
  for (const property of properties) {
    if (property.type !== 'Property') return undefined;
    members.set(nameOf(property.key), valueOf(property.value, constants, depth + 1));
  }
  return members;
}
