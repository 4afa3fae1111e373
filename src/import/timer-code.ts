import {
  type Binding,
  type Bindings,
  bindingsOf,
  isNode,
  loadedModule,
  type Loose,
  memberOf,
  nameOf,
  nodes,
  parseSource,
  unwrapped,
  walk,
} from './javascript';

/** A value that an app setting gives, and the one that it has without. */
export class FromSetting {
  constructor(
    readonly name: string,
    readonly fallback: unknown,
  ) {}
}

/** A value that only a run of the program would show. */
export const UNKNOWN = Symbol('unknown');

interface TimerCall {
  readonly kind: 'timer';
  readonly line: number;
  readonly name: unknown;
  /** The members of the options; undefined if they are computed. */
  readonly options: ReadonlyMap<string, unknown> | undefined;
  /** The words that are taken for `app.timer`, if the file does not show where they come from. */
  readonly takenFor?: string;
}

interface UnreadTimer {
  readonly kind: 'unread';
  readonly line: number;
  readonly what: string;
  readonly why: string;
}

export type TimerFind = TimerCall | UnreadTimer;

const PACKAGE = '@azure/functions';

/** What an expression is, of the package. */
interface Role {
  readonly what: 'package' | 'app' | 'timer' | 'generic';
  /** Whether the file shows that it comes from the package: others take `app` from their own module. */
  readonly isSure: boolean;
}

/**
 * The timers that a source in JavaScript or TypeScript registers, by its syntax: `app` may have another name. Whatever
 * else looks like one is listed as unread.
 *
 * @throws ImportError if the file is neither
 */
export function timersInCode(file: string, text: string): readonly TimerFind[] {
  const { program, lineOf } = parseSource(file, text);
  const bindings = bindingsOf(program);
  const finds: TimerFind[] = [];
  const found = new Set<Loose>();
  walk(program, (node) => {
    if (node.type !== 'CallExpression') return;
    const role = roleOf(node['callee'], bindings, found);
    if (role?.what === 'timer') finds.push(...timerOf(node, role, bindings, lineOf(node)));
    else if (role?.what === 'generic') finds.push(...genericOf(node, bindings, found, lineOf(node)));
  });
  walk(program, (node) => {
    if (!found.has(node)) finds.push(...unreadOf(node, bindings, lineOf(node)));
  });
  return finds.sort((a, b) => a.line - b.line);
}

/** `app.timer(name, options)` */
function timerOf(call: Loose, { isSure }: Role, bindings: Bindings, line: number): readonly TimerFind[] {
  const [name, options] = nodes(call['arguments']);
  const members = options && membersOf(options, bindings);
  if (!isSure && !(members === undefined ? mayBeOptions(options) : members.has('schedule'))) return [];
  const takenFor = isSure ? {} : { takenFor: wordsOf(call['callee']) };
  return [{ kind: 'timer', line, name: valueOf(name, bindings), options: members, ...takenFor }];
}

function mayBeOptions(options: Loose | undefined): boolean {
  return options !== undefined && !/^(Literal|TemplateLiteral|\w*Function\w*)$/.test(options.type);
}

/** `app.generic(name, { trigger: trigger.timer(…), … })` */
function genericOf(call: Loose, bindings: Bindings, found: Set<Loose>, line: number): readonly TimerFind[] {
  const isSure = roleOf(call['callee'], bindings)?.isSure === true;
  const [name, options] = nodes(call['arguments']);
  const members = options && propertiesOf(options, bindings);
  if (members === undefined) return [unread(line, 'app.generic(…)', 'an option of it is computed')];
  const trigger = behind(members.get('trigger'), bindings);
  const timer = trigger && triggerOf(trigger, bindings);
  if (trigger === undefined || timer === undefined) return [];
  found.add(trigger);
  const rest = options && membersOf(options, bindings);
  return [
    {
      kind: 'timer',
      line,
      name: valueOf(name, bindings),
      options: timer === UNKNOWN ? undefined : new Map([...(rest ?? []), ...timer]),
      ...(!isSure && { takenFor: wordsOf(call['callee']) }),
    },
  ];
}

/** The options of a timer's trigger, as `trigger.timer(…)` or written out; undefined: it is another trigger. */
function triggerOf(trigger: Loose, bindings: Bindings): ReadonlyMap<string, unknown> | typeof UNKNOWN | undefined {
  if (trigger.type === 'ObjectExpression') {
    const members = membersOf(trigger, bindings);
    return members?.get('type') === 'timerTrigger' ? members : undefined;
  }
  // A trigger that is computed may be any.
  if (trigger.type !== 'CallExpression') return UNKNOWN;
  const callee = unwrapped(trigger['callee']);
  const [options] = nodes(trigger['arguments']);
  const member = isNode(callee) && callee.type === 'MemberExpression' ? memberOf(callee) : nameOf(callee);
  if (member === 'timer') return (options && membersOf(options, bindings)) ?? UNKNOWN;
  const members = options && membersOf(options, bindings);
  return member === 'generic' && members?.get('type') === 'timerTrigger' ? members : undefined;
}

/** What looks like a timer, and was not found to be one. */
function unreadOf(node: Loose, bindings: Bindings, line: number): readonly TimerFind[] {
  if (node.type === 'MemberExpression') {
    const role = roleOf(node, bindings);
    const why = 'it is passed on, so only a run of the program shows its timers';
    return role?.what === 'timer' && role.isSure ? [unread(line, wordsOf(node), why)] : [];
  }
  if (node.type === 'ObjectExpression') {
    const members = membersOf(node, bindings);
    const isTimer = members?.get('type') === 'timerTrigger' && members.has('schedule');
    return isTimer ? [unread(line, 'a timerTrigger', 'no call of this file registers it')] : [];
  }
  if (node.type !== 'CallExpression' || roleOf(node['callee'], bindings) !== undefined) return [];
  const callee = unwrapped(node['callee']);
  if (!isNode(callee) || callee.type !== 'MemberExpression' || memberOf(callee) !== 'timer') return [];
  const hasSchedule = nodes(node['arguments']).some((one) => propertiesOf(one, bindings)?.has('schedule') === true);
  if (!hasSchedule) return [];
  const why = `it looks like a timer, but nothing in this file shows that it is one of ${PACKAGE}`;
  return [unread(line, `${wordsOf(callee)}(…)`, why)];
}

function unread(line: number, what: string, why: string): TimerFind {
  return { kind: 'unread', line, what, why };
}

function wordsOf(node: unknown): string {
  const inner = unwrapped(node);
  if (!isNode(inner)) return '…';
  if (inner.type === 'MemberExpression') return `${wordsOf(inner['object'])}.${memberOf(inner) ?? '…'}`;
  return inner.type === 'ThisExpression' ? 'this' : nameOf(inner) || '…';
}

/** @param found is given the member behind a name that is called */
function roleOf(node: unknown, bindings: Bindings, found = new Set<Loose>(), depth = 0): Role | undefined {
  const expression = unwrapped(node);
  if (!isNode(expression) || depth > 20) return undefined;
  const inner = (one: unknown): Role | undefined => roleOf(one, bindings, found, depth + 1);
  if (loadedModule(expression) === PACKAGE) return { what: 'package', isSure: true };
  if (expression.type === 'MemberExpression') {
    const role = memberRole(memberOf(expression), inner(expression['object']));
    if (role?.what === 'timer') found.add(expression);
    return role;
  }
  if (expression.type !== 'Identifier') return undefined;
  const name = nameOf(expression);
  const roles = (bindings.get(name) ?? []).flatMap((binding) => boundRole(binding, inner) ?? []);
  return (
    roles.find(({ isSure }) => isSure) ?? roles[0] ?? (name === 'app' ? { what: 'app', isSure: false } : undefined)
  );
}

function boundRole(binding: Binding, roleOfNode: (node: Loose) => Role | undefined): Role | undefined {
  switch (binding.kind) {
    case 'import':
      if (binding.module === PACKAGE && /^(\*|default)$/.test(binding.imported))
        return { what: 'package', isSure: true };
      return memberRole(binding.imported, binding.module === PACKAGE ? { what: 'package', isSure: true } : undefined);
    case 'value':
      return binding.key === undefined ? roleOfNode(binding.from) : memberRole(binding.key, roleOfNode(binding.from));
    case 'unknown':
      return undefined;
  }
}

/** The role of a member of something. A member `app` of anything may be the package's. */
function memberRole(member: string | undefined, of: Role | undefined): Role | undefined {
  if (member === 'app') return { what: 'app', isSure: of?.what === 'package' && of.isSure };
  if (member === 'default' && of?.what === 'package') return of;
  if ((member === 'timer' || member === 'generic') && of?.what === 'app') return { what: member, isSure: of.isSure };
  return undefined;
}

function behind(node: unknown, bindings: Bindings, depth = 0): Loose | undefined {
  if (!isNode(node) || node.type !== 'Identifier' || depth > 20) return isNode(node) ? node : undefined;
  const [binding, ...others] = bindings.get(nameOf(node)) ?? [];
  if (binding?.kind !== 'value' || binding.key !== undefined || others.length > 0) return node;
  return behind(binding.from, bindings, depth + 1);
}

function valueOf(node: unknown, bindings: Bindings, depth = 0): unknown {
  const expression = behind(node, bindings);
  if (expression === undefined || depth > 20) return UNKNOWN;
  const inner = (one: unknown): unknown => valueOf(one, bindings, depth + 1);
  switch (expression.type) {
    case 'Literal':
      return expression['value'];
    case 'TemplateLiteral': {
      const [quasi, ...rest] = nodes(expression['quasis']);
      const { cooked } = (quasi?.['value'] ?? {}) as { readonly cooked?: string };
      return rest.length === 0 && cooked !== undefined ? cooked : UNKNOWN;
    }
    case 'UnaryExpression': {
      const value = inner(expression['argument']);
      // Minifiers write !0 for true.
      if (expression['operator'] === '!') return typeof value === 'number' ? value === 0 : UNKNOWN;
      return expression['operator'] === '-' && typeof value === 'number' ? -value : UNKNOWN;
    }
    case 'LogicalExpression': {
      const left = inner(expression['left']);
      return left instanceof FromSetting ? new FromSetting(left.name, inner(expression['right'])) : UNKNOWN;
    }
    case 'MemberExpression':
      return isEnvironment(expression['object']) ? new FromSetting(memberOf(expression) ?? '', undefined) : UNKNOWN;
    case 'ObjectExpression':
      return membersOf(expression, bindings, depth + 1) ?? UNKNOWN;
    default:
      return UNKNOWN;
  }
}

function isEnvironment(node: unknown): boolean {
  return (
    isNode(node) && node.type === 'MemberExpression' && nameOf(node['object']) === 'process' && memberOf(node) === 'env'
  );
}

/** The members of an object expression, even of one behind a constant; undefined if some are not written there. */
function membersOf(node: Loose, bindings: Bindings, depth = 0): ReadonlyMap<string, unknown> | undefined {
  const properties = depth > 20 ? undefined : propertiesOf(node, bindings);
  return properties && new Map([...properties].map(([name, value]) => [name, valueOf(value, bindings, depth + 1)]));
}

function propertiesOf(node: Loose, bindings: Bindings): ReadonlyMap<string, unknown> | undefined {
  const expression = behind(node, bindings);
  if (expression?.type !== 'ObjectExpression') return undefined;
  const properties = nodes(expression['properties']);
  const isWritten = properties.every(({ type, computed }) => type === 'Property' && computed !== true);
  return isWritten ? new Map(properties.map(({ key, value }) => [nameOf(key), value])) : undefined;
}
