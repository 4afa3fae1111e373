import { parseSync, Visitor } from 'oxc-parser';
import type { SourceFile } from './rooms';

/** Lines of a function without those of the functions inside it. */
const OWN_LINES = 60;
/** Lines of a factory with the small closures that it binds. */
const ALL_LINES = 120;
const PARAMETERS = 5;

interface FunctionNode {
  readonly start: number;
  readonly end: number;
  readonly params: readonly unknown[];
}

/** Every function that is too long or takes too many parameters, in words. */
export function oversized(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ file, text }) => functionsOf(file, text).flatMap((one) => problemsOf(file, text, one)));
}

interface Nested extends FunctionNode {
  readonly inner: Nested[];
}

function functionsOf(file: string, text: string): Nested[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${String(errors[0]?.message)}`);
  const all: Nested[] = [];
  const open: Nested[] = [];
  const enter = ({ start, end, params }: FunctionNode): void => {
    const one: Nested = { start, end, params, inner: [] };
    open.at(-1)?.inner.push(one);
    open.push(one);
    all.push(one);
  };
  const leave = (): void => void open.pop();
  new Visitor({
    FunctionDeclaration: enter,
    'FunctionDeclaration:exit': leave,
    FunctionExpression: enter,
    'FunctionExpression:exit': leave,
    ArrowFunctionExpression: enter,
    'ArrowFunctionExpression:exit': leave,
  }).visit(program);
  return all;
}

function problemsOf(file: string, text: string, one: Nested): string[] {
  const lines = linesOf(text, one);
  const own = one.inner.reduce((rest, inner) => rest - (linesOf(text, inner) - 1), lines);
  const where = `${file}:${String(text.slice(0, one.start).split('\n').length)}`;
  return [
    ...(own > OWN_LINES ? [`${where} has ${String(own)} lines of its own, and may have ${String(OWN_LINES)}`] : []),
    ...(lines > ALL_LINES ? [`${where} has ${String(lines)} lines, and may have ${String(ALL_LINES)}`] : []),
    ...(one.params.length > PARAMETERS
      ? [`${where} has ${String(one.params.length)} parameters, and may have ${String(PARAMETERS)}`]
      : []),
  ];
}

function linesOf(text: string, { start, end }: FunctionNode): number {
  return text.slice(start, end).split('\n').length;
}
