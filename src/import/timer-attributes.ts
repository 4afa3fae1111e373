import { FromSetting, type TimerFind, UNKNOWN } from './timer-code';

const C = [
  String.raw`(?<space>\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)`,
  String.raw`(?<prefix>[$@]{0,3})(?:(?<triple>"{3,})(?<long>[\s\S]*?)\k<triple>|(?<=@\$?)"(?<verbatim>(?:[^"]|"")*)"|"(?<short>(?:\\.|[^"\\\n])*)")`,
  String.raw`'(?:\\[^'\n]+|[^'\\\n])'`,
];

const PYTHON = [
  String.raw`(?<space>\s+|\\\n|#[^\n]*)`,
  String.raw`(?<prefix>(?<!\w)[rRbBuUfF]{0,2})(?:(?<triple>"{3}|'{3})(?<long>[\s\S]*?)\k<triple>|"(?<short>(?:\\.|[^"\\\n])*)"|'(?<verbatim>(?:\\.|[^'\\\n])*)')`,
];

const REST = [String.raw`(?<word>[\p{L}_]\w*|\d[\w.]*)`, String.raw`(?<sign>[\s\S])`];

/** An attribute, annotation or decorator: `[TimerTrigger("…", RunOnStartup = true)]`, `@app.retry(…)`. */
interface Attribute {
  readonly name: string;
  readonly line: number;
  readonly positional: readonly unknown[];
  readonly named: ReadonlyMap<string, unknown>;
}

type ValueOf = (tokens: readonly Token[]) => unknown;

/** The timers of a source of the languages of .NET or Java, whose triggers are attributes. */
export function timersInAttributes(text: string): readonly TimerFind[] {
  const tokens = tokensOf(text, 'c');
  const valueOf = valuesOf(tokens);
  return tokens.flatMap((token, at): readonly TimerFind[] => {
    if (!isWord(token, 'TimerTrigger', 'TimerTriggerAttribute') || !isSign(tokens[at + 1], '(')) return [];
    // Its class has this name, and a method may have it.
    if (tokens[at - 1]?.kind === 'word') return [];
    const start = startOfMethod(tokens, at);
    const attributes = attributesIn(tokens, start, at, valueOf);
    const trigger = attributeAt(tokens, at, valueOf);
    const named = attributes.findLast(({ name }) => /^Function(Name)?(Attribute)?$/.test(name));
    const name =
      named === undefined ? nameOfMethod(tokens, start, at) : (named.positional[0] ?? named.named.get('value'));
    return [{ kind: 'timer', line: token.line, name: name ?? UNKNOWN, options: optionsOf(trigger, attributes) }];
  });
}

export function timersInPython(text: string): readonly TimerFind[] {
  const tokens = tokensOf(text, 'python');
  const valueOf = valuesOf(tokens);
  const finds: TimerFind[] = [];
  const read = new Set<number>();
  for (let at = 0; at < tokens.length; at += 1) {
    if (!isDecorator(tokens, at)) continue;
    const { decorators, end } = decoratorsFrom(tokens, at, valueOf, read);
    const [first, second, third] = tokens.slice(end, end + 3);
    const method = isWord(first, 'async') ? third : second;
    const given = decorators.find(({ name }) => name === 'function_name');
    const name = given === undefined ? (method?.value ?? UNKNOWN) : (given.named.get('name') ?? given.positional[0]);
    for (const trigger of decorators.filter(isPythonTimer)) {
      finds.push({ kind: 'timer', line: trigger.line, name, options: optionsOf(trigger, decorators) });
    }
    at = end - 1;
  }
  const others = tokens.flatMap((token, at): readonly TimerFind[] => {
    if (read.has(at) || !isWord(token, 'timer_trigger') || isWord(tokens[at - 1], 'def')) return [];
    return [{ kind: 'unread', line: token.line, what: token.value, why: 'it is not a decorator of a function' }];
  });
  return [...finds, ...others];
}

function isPythonTimer({ name, named }: Attribute): boolean {
  if (name === 'timer_trigger') return true;
  return named.has('schedule') && (name === 'schedule' || named.get('type') === 'timerTrigger');
}

/** An `@` that begins a line; elsewhere it multiplies matrices. */
function isDecorator(tokens: readonly Token[], at: number): boolean {
  return isSign(tokens[at], '@') && tokens[at - 1]?.line !== tokens[at]?.line;
}

interface Decorated {
  readonly decorators: readonly Attribute[];
  readonly end: number;
}

function decoratorsFrom(tokens: readonly Token[], start: number, valueOf: ValueOf, read: Set<number>): Decorated {
  const decorators: Attribute[] = [];
  let at = start;
  while (isDecorator(tokens, at)) {
    let name = at + 1;
    while (isSign(tokens[name + 1], '.')) name += 2;
    decorators.push(attributeAt(tokens, name, valueOf));
    read.add(name);
    at = isSign(tokens[name + 1], '(') ? closeOf(tokens, name + 1) : name + 1;
  }
  return { decorators, end: at };
}

/** The members of a trigger under the names that `function.json` gives them. */
function optionsOf(trigger: Attribute, attributes: readonly Attribute[]): ReadonlyMap<string, unknown> | undefined {
  const named = [...trigger.named].map(([name, value]) => [camelCase(name), value] as const);
  const members = new Map<string, unknown>(named);
  // Python has the name of the argument first.
  const schedule = trigger.positional[trigger.name.startsWith('TimerTrigger') ? 0 : 1];
  if (schedule !== undefined && !members.has('schedule')) members.set('schedule', schedule);
  const retry = retryOf(attributes);
  if (retry !== undefined) members.set('retry', retry);
  const disable = attributes.find(({ name }) => /^Disable(Attribute)?$/.test(name));
  if (disable !== undefined) members.set('disabled', disable.positional[0] ?? true);
  return members;
}

/** `RunOnStartup` and `run_on_startup` are `runOnStartup`. */
function camelCase(name: string): string {
  const joined = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return joined.charAt(0).toLowerCase() + joined.slice(1);
}

function retryOf(attributes: readonly Attribute[]): ReadonlyMap<string, unknown> | undefined {
  const policy = attributes.find(({ name }) => /^(retry|(FixedDelay|ExponentialBackoff)Retry(Attribute)?)$/.test(name));
  if (policy === undefined) return undefined;
  const isFixed = policy.name.startsWith('FixedDelay') || policy.named.get('strategy') === 'fixed_delay';
  const members = new Map<string, unknown>([...policy.named].map(([name, value]) => [camelCase(name), value]));
  const order = isFixed ? ['maxRetryCount', 'delayInterval'] : ['maxRetryCount', 'minimumInterval', 'maximumInterval'];
  for (const [index, value] of policy.positional.entries()) members.set(order[index] ?? '', value);
  const count = members.get('maxRetryCount');
  if (typeof count === 'string' && /^\d+$/.test(count)) members.set('maxRetryCount', Number(count));
  return members.set('strategy', isFixed ? 'fixedDelay' : 'exponentialBackoff');
}

/** The first token of the method in whose parameters a trigger stands: no attribute has a semicolon. */
function startOfMethod(tokens: readonly Token[], trigger: number): number {
  let start = trigger;
  const isEnd = (token: Token | undefined): boolean => isSign(token, ';', '{', '}') || isWord(token, 'TimerTrigger');
  while (start > 0 && !isEnd(tokens[start - 1])) start -= 1;
  return start;
}

function attributesIn(tokens: readonly Token[], start: number, end: number, valueOf: ValueOf): readonly Attribute[] {
  return tokens.slice(start, end).flatMap((token, index) => {
    const at = start + index;
    const isFirst = isSign(tokens[at - 1], '[', ',', '@', '<', '.');
    return token.kind === 'word' && isFirst ? [attributeAt(tokens, at, valueOf)] : [];
  });
}

/** The word before the bracket that is open where a trigger stands. */
function nameOfMethod(tokens: readonly Token[], start: number, trigger: number): string | undefined {
  for (let at = start; at < trigger; at += 1) {
    if (isSign(tokens[at], '(') && closeOf(tokens, at) > trigger) return tokens[at - 1]?.value;
  }
  return undefined;
}

function attributeAt(tokens: readonly Token[], at: number, valueOf: ValueOf): Attribute {
  const { value: name = '', line = 1 } = tokens[at] ?? {};
  const positional: unknown[] = [];
  const named = new Map<string, unknown>();
  for (const part of isSign(tokens[at + 1], '(') ? argumentsAt(tokens, at + 1) : []) {
    const [first, second, third] = part;
    const isNamed = first?.kind === 'word' && isSign(second, '=', ':') && !isSign(third, '=');
    if (isNamed) named.set(first.value, valueOf(part.slice(2)));
    else positional.push(valueOf(part));
  }
  return { name, line, positional, named };
}

function isWord(token: Token | undefined, ...words: readonly string[]): boolean {
  return token?.kind === 'word' && words.includes(token.value);
}

/** Values as far as the text of the file gives them: texts, numbers, constants, app settings. */
function valuesOf(tokens: readonly Token[]): ValueOf {
  const constants = constantsOf(tokens);
  return (expression) => {
    const [first] = expression;
    const last = expression.at(-1);
    if (expression.every((token) => token.kind === 'text' || isSign(token, '+'))) return textOf(expression);
    if (isWord(first, 'nameof')) return expression.findLast(({ kind }) => kind === 'word')?.value ?? UNKNOWN;
    if (expression.length === 1 && /^(true|false)$/i.test(first?.value ?? ''))
      return first?.value.toLowerCase() === 'true';
    if (expression.length === 1 && /^\d+$/.test(first?.value ?? '')) return Number(first?.value);
    const setting = settingOf(expression);
    if (setting !== undefined) return setting;
    if (last?.kind !== 'word' || !expression.every(({ kind }, index) => kind === (index % 2 ? 'sign' : 'word')))
      return UNKNOWN;
    const qualifier = expression.at(-3)?.value;
    const isOwn =
      qualifier === undefined ||
      tokens.some((token, at) => token.value === qualifier && isWord(tokens[at - 1], 'class', 'module', 'object'));
    return (isOwn ? constants.get(last.value) : undefined) ?? UNKNOWN;
  };
}

function textOf(texts: readonly Token[]): unknown {
  if (texts.some(({ isComputed }) => isComputed)) return UNKNOWN;
  return texts.flatMap(({ kind, value }) => (kind === 'text' ? [value] : [])).join('');
}

/** Names with a text that the file gives them once. */
function constantsOf(tokens: readonly Token[]): ReadonlyMap<string, unknown> {
  const constants = new Map<string, unknown>();
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    if (isSign(token, '(', '[')) depth += 1;
    else if (isSign(token, ')', ']')) depth -= 1;
    const [name, text, after] = [tokens[at - 1], tokens[at + 1], tokens[at + 2]];
    if (depth > 0 || !isSign(token, '=') || name?.kind !== 'word' || text === undefined) continue;
    const isWhole = text.kind === 'text' && (after === undefined || isSign(after, ';') || after.line > text.line);
    constants.set(name.value, isWhole && !constants.has(name.value) ? textOf([text]) : UNKNOWN);
  }
  return constants;
}

/** `os.environ["NAME"]`, and `os.environ.get` or `os.getenv` with the value that it has without. */
function settingOf(expression: readonly Token[]): FromSetting | undefined {
  const words = expression.flatMap(({ kind, value }) => (kind === 'word' ? [value] : [])).join('.');
  if (!/^(os\.)?(environ(\.get)?|getenv)$/.test(words)) return undefined;
  const [name, fallback] = expression.filter(({ kind }) => kind === 'text');
  return name === undefined ? undefined : new FromSetting(name.value, fallback?.value);
}

interface Token {
  readonly kind: 'word' | 'text' | 'sign';
  /** Of a text: its content, without quotes and escapes. */
  readonly value: string;
  readonly line: number;
  /** Of a text: whether values of the program stand in it. */
  readonly isComputed: boolean;
}

type Language = 'c' | 'python';

/** The tokens of a source, without comments: in Python, or in a language with the comments and texts of C. */
function tokensOf(text: string, language: Language): readonly Token[] {
  const pattern = new RegExp([...(language === 'c' ? C : PYTHON), ...REST].join('|'), 'gu');
  const tokens: Token[] = [];
  let line = 1;
  for (const { 0: all, groups = {} } of text.matchAll(pattern)) {
    const { space, prefix = '', long, verbatim, short, word, sign } = groups;
    const content = long ?? verbatim ?? short;
    if (content !== undefined) {
      const isComputed = /[$fF]/.test(prefix) && content.includes('{');
      tokens.push({ kind: 'text', value: content.replaceAll(/\\(["'\\])/g, '$1'), line, isComputed });
    } else if (word !== undefined) tokens.push({ kind: 'word', value: word, line, isComputed: false });
    else if (sign !== undefined && space === undefined)
      tokens.push({ kind: 'sign', value: sign, line, isComputed: false });
    line += all.split('\n').length - 1;
  }
  return tokens;
}

/** The place after the bracket that closes the one at `open`, or the end. */
function closeOf(tokens: readonly Token[], open: number): number {
  let depth = 0;
  for (let at = open; at < tokens.length; at += 1) {
    const { kind, value } = tokens[at] ?? { kind: 'sign', value: '' };
    if (kind !== 'sign') continue;
    if ('([{'.includes(value)) depth += 1;
    else if (')]}'.includes(value)) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return tokens.length;
}

/** The parts of the arguments in the brackets at `open`, which commas divide. */
function argumentsAt(tokens: readonly Token[], open: number): readonly (readonly Token[])[] {
  const end = closeOf(tokens, open) - 1;
  const parts: Token[][] = [[]];
  for (let at = open + 1; at < end;) {
    const token = tokens[at];
    if (token === undefined) break;
    if (isSign(token, ',')) {
      parts.push([]);
      at += 1;
      continue;
    }
    const next = isSign(token, '(', '[', '{') ? closeOf(tokens, at) : at + 1;
    parts.at(-1)?.push(...tokens.slice(at, next));
    at = next;
  }
  return parts.filter((part) => part.length > 0);
}

function isSign(token: Token | undefined, ...signs: readonly string[]): boolean {
  return token?.kind === 'sign' && signs.includes(token.value);
}
