/** A node of a syntax tree: `oxc-parser` gives ESTree, with types of TypeScript. */
export interface TreeNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [child: string]: unknown;
}

/** A node, and the place that it has in the one above it. */
export interface Place {
  readonly node: TreeNode;
  /** The node above it, and so on outwards. */
  readonly above: readonly TreeNode[];
  /** The child of the node above it that it is, or that it is an element of. */
  readonly key: string;
}

/** Describes one node of a rule by its kind, and by names that are in it. */
export interface Sought {
  readonly says: string;
  readonly fits: (place: Place) => boolean;
  /** Which one counts where several fit. Undefined: only one may. */
  readonly of?: 'first' | 'last';
}

/** Where a rule is: the file under `src`, and the function that holds it or the constant that states it. */
export type Rule = `${string}.ts:${string}`;

export type Change =
  /** Drops it with the statement whose only purpose it is; of an "and" or "or" the other side stays. */
  | { readonly kind: 'drop' }
  /** Puts this code in its place. `$` stands for the text that it has. */
  | { readonly kind: 'become'; readonly code: string }
  | { readonly kind: 'operator'; readonly to: string }
  /** Puts this code before, or behind, the statement that it is in. */
  | { readonly kind: 'before' | 'behind'; readonly code: string };

/** One change of the syntax tree of a rule. */
export type Edit =
  | { readonly rule: Rule; readonly node: Sought; readonly change: Change }
  /** An import that another edit needs. */
  | { readonly file: string; readonly imports: string };

export function drop(rule: Rule, node: Sought): Edit {
  return { rule, node, change: { kind: 'drop' } };
}

/** @param code `$` stands for the text that the node has */
export function become(rule: Rule, node: Sought, code: string): Edit {
  return { rule, node, change: { kind: 'become', code } };
}

/** The condition is never met. */
export function never(rule: Rule, condition: Sought): Edit {
  return become(rule, condition, 'false');
}

export function operator(rule: Rule, node: Sought, to: string): Edit {
  return { rule, node, change: { kind: 'operator', to } };
}

export function before(rule: Rule, node: Sought, code: string): Edit {
  return { rule, node, change: { kind: 'before', code } };
}

export function behind(rule: Rule, node: Sought, code: string): Edit {
  return { rule, node, change: { kind: 'behind', code } };
}

/** @param imports such as `{ moment } from '../lease/trust'` */
export function imported(file: string, imports: string): Edit {
  return { file, imports };
}

/** The condition is always met. */
export function always(rule: Rule, condition: Sought): Edit {
  return become(rule, condition, 'true');
}

/** The first of those that fit. */
export function first(node: Sought): Sought {
  return { ...node, says: `first ${node.says}`, of: 'first' };
}

/** The last of those that fit. */
export function last(node: Sought): Sought {
  return { ...node, says: `last ${node.says}`, of: 'last' };
}

/** A call of this function or method, or a `new` of this class. */
export function call(name: string, ...mentions: readonly string[]): Sought {
  return sought(`call of ${name}`, mentions, ({ node }) => calleeOf(node) === name);
}

/** The argument of a call, counted from 0. */
export function argument(name: string, index: number, ...mentions: readonly string[]): Sought {
  return sought(`argument ${String(index)} of ${name}`, mentions, ({ node, above: [parent] }) => {
    const list = parent?.['arguments'];
    return parent !== undefined && calleeOf(parent) === name && Array.isArray(list) && list[index] === node;
  });
}

/** An `if`, by what its condition mentions. */
export function branch(...mentions: readonly string[]): Sought {
  const says = `branch on ${mentions.join(', ')}`;
  return sought(says, [], ({ node }) => node.type === 'IfStatement' && mentionsAll(node['test'], mentions));
}

/** The condition of an `if`, a loop or a choice. */
export function test(...mentions: readonly string[]): Sought {
  return sought('test', mentions, ({ key }) => key === 'test');
}

/** One of those that `&&`, `||` or `??` join. */
export function operand(...mentions: readonly string[]): Sought {
  return sought('operand', mentions, ({ node, above: [parent] }) => {
    const isSame = node.type === parent?.type && node['operator'] === parent['operator'];
    return parent?.type === 'LogicalExpression' && !isSame;
  });
}

/** One of those that `+` adds. */
export function summand(...mentions: readonly string[]): Sought {
  const isSum = (node: TreeNode | undefined): boolean => node?.type === 'BinaryExpression' && node['operator'] === '+';
  return sought('summand', mentions, ({ node, above: [parent] }) => isSum(parent) && !isSum(node));
}

/** What two operands are joined or compared by. */
export function operation(sign: string, ...mentions: readonly string[]): Sought {
  return sought(sign, mentions, ({ node }) => node['operator'] === sign);
}

/** What a constant, a variable or a property of this name is set to. */
export function value(name: string, ...mentions: readonly string[]): Sought {
  return sought(`value of ${name}`, mentions, ({ key, above: [parent] }) => {
    if (parent?.type === 'VariableDeclarator') return key === 'init' && nameOf(parent['id']) === name;
    if (parent?.type === 'AssignmentExpression') return key === 'right' && nameOf(parent['left']) === name;
    return parent?.type === 'Property' && key === 'value' && nameOf(parent['key']) === name && !parent['shorthand'];
  });
}

/** A property of an object, or a name that is taken from one. */
export function property(name: string, ...mentions: readonly string[]): Sought {
  return sought(`property ${name}`, mentions, ({ node }) => node.type === 'Property' && nameOf(node['key']) === name);
}

/** Something that is spread into an object or a list. */
export function spread(...mentions: readonly string[]): Sought {
  return sought('spread', mentions, ({ node }) => node.type === 'SpreadElement');
}

/** What is returned. */
export function returned(...mentions: readonly string[]): Sought {
  return sought('returned value', mentions, ({ key, node, above: [parent] }) => {
    if (parent?.type === 'ReturnStatement') return true;
    return parent?.type === 'ArrowFunctionExpression' && key === 'body' && node.type !== 'BlockStatement';
  });
}

export function statement(...mentions: readonly string[]): Sought {
  return sought('statement', mentions, ({ above: [parent] }) => parent?.type === 'BlockStatement');
}

function sought(says: string, mentions: readonly string[], fits: Sought['fits']): Sought {
  return {
    says: mentions.length === 0 ? says : `${says} with ${mentions.join(', ')}`,
    fits: (place) => fits(place) && mentionsAll(place.node, mentions),
  };
}

/** Whether names, texts or numbers in the node's tree are these. */
function mentionsAll(node: unknown, mentions: readonly string[]): boolean {
  return mentions.every((mention) => someIn(node, (one) => mentionOf(one) === mention));
}

function someIn(node: unknown, isIt: (node: TreeNode) => boolean): boolean {
  return isNode(node) && (isIt(node) || childrenOf(node).some(([, child]) => someIn(child, isIt)));
}

/** The name, text or number that a leaf of a tree is. */
function mentionOf(node: TreeNode): string | undefined {
  if (node.type === 'Identifier' || node.type === 'PrivateIdentifier') return String(node['name']);
  return node.type === 'Literal' ? String(node['value']) : undefined;
}

function calleeOf({ type, callee }: TreeNode): string | undefined {
  return type === 'CallExpression' || type === 'NewExpression' ? nameOf(callee) : undefined;
}

/** The name of a variable, of a member, or of a key. */
export function nameOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  return node.type === 'MemberExpression' ? nameOf(node['property']) : mentionOf(node);
}

export function isNode(value: unknown): value is TreeNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** The nodes right below one, each with the key that leads to it. */
export function childrenOf(node: TreeNode): readonly (readonly [key: string, child: TreeNode])[] {
  const found: [string, TreeNode][] = [];
  for (const [key, child] of Object.entries(node)) {
    if (isNode(child)) found.push([key, child]);
    else if (Array.isArray(child)) for (const one of child) if (isNode(one)) found.push([key, one]);
  }
  return found;
}
