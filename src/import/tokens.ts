/** A word, text or other character of a source. */
export interface Token {
  readonly kind: 'word' | 'text' | 'sign';
  /** Of a text: its content, without quotes and escapes. */
  readonly value: string;
  readonly line: number;
  /** Of a text: whether values of the program stand in it. */
  readonly isComputed: boolean;
}

type Language = 'c' | 'python';

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

/** The tokens of a source, without comments: in Python, or in a language with the comments and texts of C. */
export function tokensOf(text: string, language: Language): readonly Token[] {
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
export function closeOf(tokens: readonly Token[], open: number): number {
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
export function argumentsAt(tokens: readonly Token[], open: number): readonly (readonly Token[])[] {
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

export function isSign(token: Token | undefined, ...signs: readonly string[]): boolean {
  return token?.kind === 'sign' && signs.includes(token.value);
}
