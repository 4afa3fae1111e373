import type { Node } from 'web-tree-sitter';
import { type Template, childrenOf, literal, membersOf } from './bicep';

/** What an expression comes to. */
export type Value = string | number | boolean | null | Value[] | { [name: string]: Value } | Lambda;
type Lambda = (...values: Value[]) => Value;
type Scope = (name: string) => Value;

/** The expression has something in it that is known on Azure only, or that no template needed so far. */
export class NotEvaluatedError extends Error {
  override readonly name = 'NotEvaluatedError';
}

/** The template refuses what it was given. */
export class FailedError extends Error {
  override readonly name = 'FailedError';
}

/**
 * Evaluates an expression of a template as the compiler and Azure would, as far as it needs no resource.
 *
 * @param given values of names: parameters, loop variables; `loadJsonContent(FILE)` is looked up as FILE
 */
export function evaluate(template: Template, expression: Node, given: Readonly<Record<string, Value>> = {}): Value {
  const scope: Scope = (name) => {
    if (Object.hasOwn(given, name)) return given[name] ?? null;
    const value = template.variables.get(name) ?? template.parameters.get(name)?.value;
    if (value === undefined) throw new NotEvaluatedError(`${template.file}: ${name} is not known here`);
    return valueOf(value, scope);
  };

  function valueOf(node: Node, names: Scope): Value {
    const parts = childrenOf(node);
    const part = (index: number): Value => valueOf(at(parts, index), names);
    switch (node.type) {
      case 'string':
        return literal(node) ?? interpolate(node, names);
      case 'number':
        return Number(node.text);
      case 'boolean':
        return node.text === 'true';
      case 'null':
        return null;
      case 'array':
        return parts.map((item) => valueOf(item, names));
      case 'object':
        return Object.fromEntries([...membersOf(node)].map(([name, value]) => [name, valueOf(value, names)]));
      case 'identifier':
        return names(node.text);
      case 'parenthesized_expression':
        return part(0);
      case 'ternary_expression':
        return part(0) === true ? part(1) : part(2);
      case 'unary_expression':
        if (!node.text.startsWith('!')) throw new NotEvaluatedError(`${template.file}: "${node.text}"`);
        return part(0) !== true;
      case 'binary_expression':
        return operate(node, names);
      case 'lambda_expression':
        return lambda(node, (inner) => valueOf(at(parts, 1), inner), names);
      case 'member_expression':
      case 'subscript_expression':
        return access(node, names);
      case 'call_expression':
        return call(node, names);
      default:
        throw new NotEvaluatedError(`${template.file}: ${node.type} "${node.text}"`);
    }
  }

  function interpolate(node: Node, names: Scope): string {
    let text = '';
    let end = node.startIndex + 1;
    for (const piece of childrenOf(node).filter(({ type }) => type === 'interpolation')) {
      text += node.text.slice(end - node.startIndex, piece.startIndex - node.startIndex);
      text += words(valueOf(at(childrenOf(piece), 0), names));
      end = piece.endIndex;
    }
    return (text + node.text.slice(end - node.startIndex, -1)).replaceAll(/\\(.)/g, '$1');
  }

  function lambda(node: Node, body: (names: Scope) => Value, names: Scope): Lambda {
    const bound = at(childrenOf(node), 0);
    const parameters = bound.type === 'identifier' ? [bound.text] : childrenOf(bound).map(({ text }) => text);
    return (...values) =>
      body((name) => (parameters.includes(name) ? (values[parameters.indexOf(name)] ?? null) : names(name)));
  }

  function access(node: Node, names: Scope): Value {
    const [object, key] = [at(childrenOf(node), 0), at(childrenOf(node), 1)];
    const of = (value: Value, inner: Scope): Value => {
      const name = node.type === 'member_expression' ? key.text : valueOf(key, inner);
      if (Array.isArray(value) && typeof name === 'number') return value[name] ?? null;
      if (value === null || typeof value !== 'object' || Array.isArray(value) || typeof name !== 'string') {
        throw new NotEvaluatedError(`${template.file}: "${node.text}" of what is no object`);
      }
      if (!Object.hasOwn(value, name) && !/^\s*\.\?/.test(node.text.slice(object.text.length))) {
        throw new NotEvaluatedError(`${template.file}: "${node.text}": there is no ${name}`);
      }
      return value[name] ?? null;
    };
    // The grammar reads `x => x.a` as `(x => x).a`.
    if (object.type !== 'lambda_expression') return of(valueOf(object, names), names);
    return lambda(object, (inner) => of(valueOf(at(childrenOf(object), 1), inner), inner), names);
  }

  function operate(node: Node, names: Scope): Value {
    const [left, right] = [at(childrenOf(node), 0), at(childrenOf(node), 1)];
    const operator = node.childForFieldName('operator')?.text ?? '';
    const value = valueOf(left, names);
    if (operator === '??') return value ?? valueOf(right, names);
    const other = valueOf(right, names);
    if (operator === '==') return value === other;
    if (typeof value === 'number' && typeof other === 'number') {
      if (operator === '+') return value + other;
      if (operator === '-') return value - other;
      if (operator === '*') return value * other;
      if (operator === '/') return Math.trunc(value / other);
      if (operator === '<') return value < other;
    }
    throw new NotEvaluatedError(`${template.file}: "${node.text}"`);
  }

  function call(node: Node, names: Scope): Value {
    const [callee, list] = childrenOf(node);
    const name = callee?.text ?? '';
    const values = childrenOf(list).map((argument) => valueOf(argument, names));
    const own = template.functions.get(name);
    if (own !== undefined) {
      // A function sees its parameters and nothing else of the file.
      return valueOf(own.body, (inner) => {
        if (!own.parameters.includes(inner)) throw new NotEvaluatedError(`${name} knows no ${inner}`);
        return values[own.parameters.indexOf(inner)] ?? null;
      });
    }
    if (name === 'loadJsonContent') return scope(text(values[0]));
    const known = BUILT_IN[name];
    if (known === undefined) throw new NotEvaluatedError(`${template.file}: ${name}()`);
    return known(...values);
  }

  return valueOf(expression, scope);
}

const list = (value: Value | undefined): Value[] => {
  if (!Array.isArray(value)) throw new NotEvaluatedError(`${JSON.stringify(value)} is no array`);
  return value;
};
const text = (value: Value | undefined): string => {
  if (typeof value !== 'string') throw new NotEvaluatedError(`${JSON.stringify(value)} is no string`);
  return value;
};
const apply = (lambda: Value | undefined, ...values: Value[]): Value => {
  if (typeof lambda !== 'function') throw new NotEvaluatedError('a lambda is missing');
  return lambda(...values);
};
const members = (value: Value | undefined): [string, Value][] => {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new NotEvaluatedError(`${JSON.stringify(value)} is no object`);
  }
  return Object.entries(value);
};

/** Functions of the language: https://learn.microsoft.com/azure/azure-resource-manager/bicep/bicep-functions */
const BUILT_IN: Readonly<Record<string, Lambda>> = {
  items: (object = null) =>
    members(object)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => ({ key, value })),
  contains: (where = null, what = null) => {
    if (typeof where === 'string') return where.includes(text(what));
    return Array.isArray(where) ? where.includes(what) : members(where).some(([key]) => key === what);
  },
  filter: (array, lambda) => list(array).filter((value) => apply(lambda, value) === true),
  map: (array, lambda) => list(array).map((value) => apply(lambda, value)),
  reduce: (array, start = null, lambda) => list(array).reduce((value, next) => apply(lambda, value, next), start),
  max: (...values) => Math.max(...values.map(Number)),
  split: (whole, by) => text(whole).split(text(by)),
  trim: (whole) => text(whole).trim(),
  replace: (whole, from, to) => text(whole).replaceAll(text(from), text(to)),
  take: (whole = null, count) => (Array.isArray(whole) ? whole : text(whole)).slice(0, Number(count)),
  length: (whole = null) => (Array.isArray(whole) ? whole.length : text(whole).length),
  substring: (whole, start, count) => text(whole).slice(Number(start), Number(start) + Number(count)),
  join: (array, by) => list(array).map(text).join(text(by)),
  range: (start, count) => Array.from({ length: Number(count) }, (_, index) => Number(start) + index),
  union: (...values) =>
    values.every((value) => Array.isArray(value))
      ? [...new Set(values.flatMap(list))]
      : Object.fromEntries(values.flatMap(members)),
  toObject: (array, key, value) =>
    Object.fromEntries(list(array).map((item) => [text(apply(key, item)), apply(value, item)])),
  fail: (message) => {
    throw new FailedError(text(message));
  },
  // What they come to is known on Azure only; this shows what they are made of.
  uniqueString: (...parts) => `<${parts.map(text).join(' ')}>`,
  subscription: () => ({ id: 'subscription' }),
  last: (whole) => text(whole).at(-1) ?? '',
  int: (whole) => Number(text(whole)),
  empty: (whole = null) => (typeof whole === 'string' ? whole === '' : list(whole).length === 0),
  concat: (...arrays) => arrays.flatMap(list),
  flatten: (arrays) => list(arrays).flatMap(list),
};

/** A value in a string: https://learn.microsoft.com/azure/azure-resource-manager/bicep/data-types#strings */
function words(value: Value): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function at(nodes: readonly Node[], index: number): Node {
  const node = nodes[index];
  if (node === undefined) throw new NotEvaluatedError('a part of the expression is missing');
  return node;
}
