/** Words before the program itself that do not name it. */
const WRAPPERS = new Set('cd env nice ionice nohup time timeout flock sudo chronic exec test'.split(' '));
/** Options of these with a value, which may look like a program. */
const WITH_VALUE: Readonly<Record<string, RegExp>> = {
  sudo: /^-[CDghpRTu]$/,
  env: /^-[Cu]$/,
  timeout: /^-[ks]$/,
};
/** They run the text after `-c`. */
const SHELLS = /^(sh|bash|dash|zsh|ksh|su)$/;
/** Programs that run the file after them. */
const INTERPRETERS =
  /^(sh|bash|dash|zsh|ksh|python[\d.]*|perl|ruby|php[\d.]*|node|deno|bun|npx|java|dotnet|Rscript|pwsh)$/;

/**
 * A command of a crontab: the shell gets the text up to the first `%`, its standard input is the rest, with a line
 * break for each further `%`. `\%` stands for the character.
 */
export function commandOf(text: string): { readonly shown: string; readonly input: string | undefined } {
  const [first = '', ...rest] = text.split(/(?<!\\)%/).map((part) => part.replaceAll('\\%', '%'));
  return { shown: first.trim(), input: rest.length === 0 ? undefined : rest.join('\n') };
}

/** A name for what a command does: the file of its script or program, without the ending. */
export function nameOfCommand(command: string): string {
  const parts = command.split(/&&|\|\||[;|]/);
  const files = parts.flatMap((part) => programOf(part.trim().split(/\s+/)) ?? []);
  // An interpreter names nothing, where another part has a program.
  const file = files.find((name) => !isInterpreter(name)) ?? files[0] ?? 'job';
  return unquoted(file)
    .replace(/^.*\//, '')
    .replace(/\.[a-z]{1,4}$/i, '');
}

function unquoted(word: string): string {
  return word.replace(/^["']+|["']+$/g, '');
}

/** Words of the shell around commands. */
const SYNTAX = new Set(['if', 'then', 'else', 'elif', 'fi', 'for', 'while', 'do', 'done', '!', '{', '}', '(', ')']);
/** Commands that only prepare. */
const PREPARES = new Set(['', ...'cd test [ [[ . source export umask command sleep true :'.split(' ')]);

/** The word that names what runs; undefined if the part only prepares it, such as `cd /srv`. */
function programOf(words: readonly string[]): string | undefined {
  let rest = words.filter((word) => !SYNTAX.has(word) && !/^\w+=/.test(word) && !/^[\d&]*[<>]/.test(word));
  const [first = ''] = rest;
  const base = first.replace(/^.*\//, '');
  if (PREPARES.has(base)) return undefined;
  if (WRAPPERS.has(base)) {
    // Options, numbers and lock files stand before the program.
    const isValue = (index: number): boolean => WITH_VALUE[base]?.test(rest[index - 1] ?? '') === true;
    rest = rest.filter((word, index) => index > 0 && !word.startsWith('-') && !isValue(index));
    const at = rest.findIndex((word) => !/^\d+[smhd]?$/.test(word) && !/\.lock$|^\/(var|run|tmp)\//.test(word));
    return at < 0 ? base : programOf(rest.slice(at));
  }
  const text = SHELLS.test(base) ? rest.findIndex((word) => /^-\w*c$/.test(word)) : -1;
  if (text > 0) return programOf(rest.slice(text + 1).map(unquoted));
  if (!INTERPRETERS.test(base)) return first;
  const script = rest.slice(1).find((word) => !word.startsWith('-') && /^[\w./@~-]+$/.test(word));
  return script ?? first;
}

/** Whether a word is a program that runs the file after it. */
export function isInterpreter(word: string): boolean {
  return INTERPRETERS.test(word.replace(/^.*\//, ''));
}

/** Whether a word stands before programs, or runs their files. */
export function isWordOfShell(word: string): boolean {
  return WRAPPERS.has(word) || PREPARES.has(word) || SYNTAX.has(word) || isInterpreter(word);
}
