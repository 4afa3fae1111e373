import type { Program } from 'acorn';
import { type Loose, isNode, literal, memberOf, nameOf, nodes, unwrapped, walk } from './javascript';

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
