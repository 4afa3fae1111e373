import { SourceMap, stripTypeScriptTypes } from 'node:module';
import { type Node, type Program, parse } from 'acorn';
import { ImportError } from './draft';

interface Parsed {
  readonly program: Program;
  lineOf(node: Node): number;
}

/**
 * Parses a source in JavaScript or TypeScript. Neither Node nor acorn reads JSX.
 * @throws ImportError if the file is neither
 */
export function parseSource(file: string, text: string): Parsed {
  const isTypeScript = /\.[cm]?tsx?$/.test(file);
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
  } catch (asModule) {
    // A script may use words that a module reserves.
    try {
      return { program: parse(code, { ...options, sourceType: 'script' }), lineOf };
    } catch (asScript) {
      // The reading that came further was the right one: a module fails as a script at its first import.
      const [one, other] = [asModule as AcornError, asScript as AcornError];
      const error = (one.pos ?? 0) > (other.pos ?? 0) ? one : other;
      const reason = `it cannot be parsed: ${error.message}`;
      throw new ImportError({ file, line: error.loc?.line ?? 1 }, reason, { cause: error });
    }
  }
}

type AcornError = SyntaxError & { readonly pos?: number; readonly loc?: { readonly line: number } };

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
  // Only the stack has the line, before the piece of source with which it begins.
  const line = Number(/^[^\n]*:(\d+)\n/.exec(error.stack ?? '')?.[1] ?? 1);
  return new ImportError({ file, line }, `it cannot be parsed: ${error.message.trim()}`, { cause: error });
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

/** ESTree, as far as it is read here. */
export type Loose = Node & Readonly<Record<string, unknown>>;

export function isNode(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

export function walk(node: unknown, visit: (node: Loose) => void): void {
  if (!isNode(node)) return;
  visit(node);
  for (const member of Object.values(node)) {
    if (Array.isArray(member)) for (const item of member) walk(item, visit);
    else walk(member, visit);
  }
}

export function nodes(value: unknown): readonly Loose[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

export function nameOf(node: unknown): string {
  if (!isNode(node)) return '';
  if (node.type === 'Identifier') return String(node['name']);
  const text = literal(node);
  return typeof text === 'string' ? text : '';
}

/** The name of a member that is written: `a.b`, or `a['b']`. */
export function memberOf(node: Loose): string | undefined {
  if (node['computed'] !== true) return nameOf(node['property']);
  const text = literal(node['property']);
  return typeof text === 'string' ? text : undefined;
}

export function literal(node: unknown): unknown {
  return isNode(node) && node.type === 'Literal' ? node['value'] : undefined;
}

/** What an expression stands for that only wraps another one: `(0, a)`, `a?.b`, `await a`. */
export function unwrapped(node: unknown): unknown {
  if (!isNode(node)) return node;
  switch (node.type) {
    case 'SequenceExpression':
      return unwrapped(nodes(node['expressions']).at(-1));
    case 'ChainExpression':
      return unwrapped(node['expression']);
    case 'AwaitExpression':
      return unwrapped(node['argument']);
    default:
      return node;
  }
}

/** How a name gets its value. */
export type Binding =
  | { readonly kind: 'import'; readonly module: string; readonly imported: string }
  /** By an expression, or by a member of it. */
  | { readonly kind: 'value'; readonly from: Loose; readonly key?: string }
  /** By a call, a loop or a later assignment. */
  | { readonly kind: 'unknown' };

/** All bindings of each name. Scopes are not told apart: a name with two of them has a value that is unknown. */
export type Bindings = ReadonlyMap<string, readonly Binding[]>;

/** The expression that loads a module, as `require`, `await import` and wrappers of bundlers around them. */
export function loadedModule(node: unknown, depth = 0): unknown {
  const expression = unwrapped(node);
  if (!isNode(expression) || depth > 5) return undefined;
  if (expression.type === 'ImportExpression') return literal(expression['source']);
  if (expression.type !== 'CallExpression') return undefined;
  const [first] = nodes(expression['arguments']);
  return nameOf(expression['callee']) === 'require' ? literal(first) : loadedModule(first, depth + 1);
}

export function bindingsOf(program: Program): Bindings {
  const bindings = new Map<string, Binding[]>();
  const bind = (name: string, binding: Binding): void => {
    const list = bindings.get(name);
    if (list === undefined) bindings.set(name, [binding]);
    else list.push(binding);
  };
  walk(program, (node) => {
    switch (node.type) {
      case 'ImportDeclaration':
        for (const one of nodes(node['specifiers'])) {
          const imported = one.type === 'ImportSpecifier' ? nameOf(one['imported']) : '*';
          bind(nameOf(one['local']), { kind: 'import', module: String(literal(node['source'])), imported });
        }
        break;
      case 'VariableDeclarator':
        bindPattern(node['id'], node['init'], bind);
        break;
      case 'AssignmentExpression':
        bindAssigned(node['left'], bind);
        break;
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        for (const parameter of nodes(node['params'])) bindPattern(parameter, null, bind);
        break;
      case 'CallExpression':
        bindLoaded(node, bind);
        break;
      default:
    }
  });
  return bindings;
}

type Bind = (name: string, binding: Binding) => void;

function bindPattern(pattern: unknown, init: unknown, bind: Bind): void {
  if (!isNode(pattern)) return;
  const from = isNode(init) ? init : undefined;
  if (pattern.type === 'Identifier') {
    bind(nameOf(pattern), from === undefined ? { kind: 'unknown' } : { kind: 'value', from });
  } else if (pattern.type === 'ObjectPattern') {
    for (const property of nodes(pattern['properties'])) {
      const { key, value } = property;
      if (from === undefined || !isNode(value) || value.type !== 'Identifier') bindPattern(value, null, bind);
      else bind(nameOf(value), { kind: 'value', from, key: nameOf(key) });
    }
  } else if (pattern.type === 'AssignmentPattern') bindPattern(pattern['left'], null, bind);
  else for (const element of nodes(pattern['elements'])) bindPattern(element, null, bind);
}

/** A later value of a name, or of a member of it. */
function bindAssigned(left: unknown, bind: Bind): void {
  if (!isNode(left)) return;
  if (left.type !== 'MemberExpression') bindPattern(left, null, bind);
  else if (isNode(left['object']) && left['object'].type === 'Identifier')
    bind(nameOf(left['object']), { kind: 'unknown' });
}

/** `import('…').then(({ app }) => …)` */
function bindLoaded(call: Loose, bind: Bind): void {
  const { callee } = call;
  if (!isNode(callee) || callee.type !== 'MemberExpression' || memberOf(callee) !== 'then') return;
  const [then] = nodes(call['arguments']);
  const [parameter] = nodes(then?.['params']);
  if (loadedModule(callee['object']) !== undefined) bindPattern(parameter, callee['object'], bind);
}
