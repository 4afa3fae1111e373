import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { type Edit, type Place, type TreeNode, childrenOf, isNode, nameOf } from '../faults/edit';
import type { Planted } from '../faults/planted';

/** A rule of the product has moved, and its planted fault no longer fits. */
export class PlantingError extends Error {
  readonly code = 'Planting';
  override readonly name = 'PlantingError';
}

/**
 * The files that a planted fault changes, with their new texts.
 *
 * @throws PlantingError when a rule does not contain what is to be changed exactly once
 */
export function plantedSources(root: string, { name, edits }: Planted): ReadonlyMap<string, string> {
  const changed = new Map<string, string>();
  for (const edit of edits) {
    const file = 'imports' in edit ? edit.file : fileOf(edit.rule);
    const absolute = path.join(root, 'src', file);
    const text = changed.get(absolute) ?? readFileSync(absolute, 'utf8');
    const changedText = 'imports' in edit ? `import ${edit.imports};\n${text}` : edited(text, edit, name);
    changed.set(absolute, changedText);
  }
  return changed;
}

type TreeEdit = Extract<Edit, { rule: unknown }>;

function edited(text: string, { rule, node, change }: TreeEdit, name: string): string {
  const refuse = (why: string): PlantingError =>
    new PlantingError(`"${name}" cannot be planted: ${why}. Follow the rule to where it is now.`);
  const places = placesIn(text, rule).filter(node.fits);
  const place = places.at(node.of === 'last' ? -1 : 0);
  if (place === undefined || (node.of === undefined && places.length > 1)) {
    throw refuse(`src/${rule} has ${String(places.length)} times, not once, the ${node.says}`);
  }
  const put = ({ start, end }: Span, code: string): string => {
    const changed = text.slice(0, start) + code + text.slice(end);
    const lacking = code === '' ? undefined : firstUnknownName(text, changed);
    if (lacking !== undefined) throw refuse(`"${lacking}" is no name in src/${fileOf(rule)}`);
    return changed;
  };
  switch (change.kind) {
    case 'drop': {
      const span = droppable(text, place);
      if (span === undefined) throw refuse(`nothing is left of src/${rule} without the ${node.says}`);
      return put(span, '');
    }
    case 'become':
      return put(
        place.node,
        change.code.replaceAll('$', () => text.slice(place.node.start, place.node.end)),
      );
    case 'operator': {
      const [left, right] = [place.node['left'], place.node['right']];
      if (!isNode(left) || !isNode(right)) throw refuse(`the ${node.says} in src/${rule} has no two sides`);
      return put({ start: left.end, end: right.start }, ` ${change.to} `);
    }
    case 'before':
    case 'behind': {
      const own = statementOf(place);
      if (own === undefined) throw refuse(`the ${node.says} in src/${rule} is in no statement`);
      const at = change.kind === 'before' ? own.start : own.end;
      return put({ start: at, end: at }, change.kind === 'before' ? `${change.code}\n` : `\n${change.code}`);
    }
  }
}

interface Span {
  readonly start: number;
  readonly end: number;
}

function fileOf(rule: string): string {
  return rule.slice(0, rule.indexOf(':'));
}

/** All nodes of the functions, methods or constants that a rule names. */
function placesIn(text: string, rule: string): readonly Place[] {
  const name = rule.slice(rule.indexOf(':') + 1);
  const found: Place[] = [];
  eachPlace(text, (place, inRule) => {
    const isIn = inRule || isRule(place.node, name);
    if (isIn) found.push(place);
    return isIn;
  });
  return found;
}

/** @param visit returns what the places below get */
function eachPlace(text: string, visit: (place: Place, fromAbove: boolean) => boolean): void {
  const walk = (place: Place, fromAbove: boolean): void => {
    const below = visit(place, fromAbove);
    for (const [key, node] of childrenOf(place.node)) walk({ node, key, above: [place.node, ...place.above] }, below);
  };
  const program: unknown = parseSync('planted.ts', text).program;
  if (isNode(program)) walk({ node: program, key: '', above: [] }, false);
}

/** A name that a change uses, and that is not to be had in its file. */
function firstUnknownName(before: string, after: string): string | undefined {
  const known = new Set(before.match(/[\w$]+/g));
  const isMade = ({ key, above: [parent] }: Place): boolean =>
    ['id', 'params', 'property', 'key'].includes(key) || parent?.type === 'ObjectPattern';
  const made = new Set<string>();
  const used: string[] = [];
  eachPlace(after, (place) => {
    const name = place.node.type === 'Identifier' ? (nameOf(place.node) ?? '') : '';
    if (name !== '' && !known.has(name) && !(name in globalThis)) {
      if (isMade(place)) made.add(name);
      else used.push(name);
    }
    return false;
  });
  return used.find((name) => !made.has(name));
}

function isRule(node: TreeNode, name: string): boolean {
  if (node.type === 'FunctionDeclaration' || node.type === 'VariableDeclarator') return nameOf(node['id']) === name;
  const isFunction = isNode(node['value']) && node['value'].type.includes('Function');
  const isMethod = node.type === 'MethodDefinition' || (node.type === 'Property' && isFunction);
  return isMethod && nameOf(node['key']) === name;
}

/** The text that goes with a node. Undefined: what is left would be no program. */
function droppable(text: string, { node, above, key }: Place): Span | undefined {
  const [parent, ...outer] = above;
  if (parent === undefined) return undefined;
  if (parent.type === 'BlockStatement') return node;
  if (parent.type === 'LogicalExpression' || parent['operator'] === '+') {
    const [left, right] = [parent['left'], parent['right']];
    if (!isNode(left) || !isNode(right)) return undefined;
    return node === left ? { start: left.start, end: right.start } : { start: left.end, end: right.end };
  }
  const isListed = ['properties', 'elements', 'arguments'].includes(key);
  if (isListed) return { start: node.start, end: node.end + (/^\s*,/.exec(text.slice(node.end))?.[0].length ?? 0) };
  const isOnlyThis = ['ExpressionStatement', 'AwaitExpression', 'UnaryExpression', 'ChainExpression'];
  return isOnlyThis.includes(parent.type) ? droppable(text, { node: parent, above: outer, key: '' }) : undefined;
}

function statementOf({ node, above }: Place): TreeNode | undefined {
  const all = [node, ...above];
  return all.find((_, index) => ['BlockStatement', 'Program'].includes(all[index + 1]?.type ?? ''));
}
