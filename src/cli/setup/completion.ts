import type { Argument, Command, Option } from 'commander';
import { ConfigError } from '../../config/config-error';
import { loadFile } from '../jobs-file';
import { CliError, OK, print } from '../output';

// Each script asks the command that is being completed, so that it never is out of date. Options that name a file or a
// folder are left to the shell.
const FILE_OPTIONS = '--file --main --app --data --samples --report --more-jobs --prices --out --settings'.split(' ');

const bash = `# bash completion of cronlease. In ~/.bashrc:
#   source <(cronlease completion bash)
_cronlease() {
  local word="\${COMP_WORDS[COMP_CWORD]}" IFS=$'\\n'
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
    ${FILE_OPTIONS.join('|')}) COMPREPLY=($(compgen -f -- "$word")); return ;;
  esac
  if [[ $word != -* && (\${COMP_WORDS[1]} == import && $COMP_CWORD -gt 2 || \${COMP_WORDS[1]} == init && $COMP_CWORD -gt 1) ]]; then
    COMPREPLY=($(compgen -f -- "$word")); return
  fi
  COMPREPLY=($("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o nosort -F _cronlease cronlease`;

const zsh = `#compdef cronlease
# zsh completion of cronlease. In ~/.zshrc, after compinit:
#   source <(cronlease completion zsh)
_cronlease() {
  case "\${words[CURRENT-1]}" in
    ${FILE_OPTIONS.join('|')}) _files; return ;;
  esac
  if [[ "\${words[CURRENT]}" != -* && ( "\${words[2]}" == import && $CURRENT -gt 3 || "\${words[2]}" == init && $CURRENT -gt 2 ) ]]; then
    _files; return
  fi
  local -a found
  found=("\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "\${found[1]}" ]] && compadd -a found
}
compdef _cronlease cronlease`;

const fish = `# fish completion of cronlease. Once:
#   cronlease completion fish > ~/.config/fish/completions/cronlease.fish
function __cronlease_complete
  set -l before (commandline -opc)
  if test "$before[2]" = import -a (count $before) -gt 2 -o "$before[2]" = init; and not string match -q -- '-*' (commandline -ct)
    __fish_complete_path (commandline -ct)
    return
  end
  switch "$before[-1]"
    case ${FILE_OPTIONS.join(' ')}
      __fish_complete_path (commandline -ct)
    case '*'
      $before[1] __complete -- $before[2..] (commandline -ct) 2>/dev/null
  end
end
complete -c cronlease -f -a '(__cronlease_complete)'`;

/** `cronlease completion`: prints a script that makes a shell complete the command line. */
export function completion(shell: 'bash' | 'zsh' | 'fish'): number {
  print({ bash, zsh, fish }[shell]);
  return OK;
}

/** The hidden command by which the scripts ask. */
export const COMPLETE = '__complete';

/**
 * What may stand in the place of the last word, one on a line. It reads the command line and the jobs file, and makes
 * no call.
 *
 * @param words the command line from its second word on; the last one is the word to complete, and may be empty
 */
export function complete(program: Command, words: readonly string[]): number {
  const word = words.at(-1) ?? '';
  const all = candidates(program, words.slice(0, -1), word.startsWith('-'));
  const found = [...new Set(all)].filter((text) => text.startsWith(word)).toSorted();
  if (found.length > 0) print(found.join('\n'));
  return OK;
}

/** What may follow the words before, whatever is typed of it. */
function candidates(program: Command, before: readonly string[], isFlag: boolean): readonly string[] {
  const [name, ...rest] = before;
  const names = program.commands.map((command) => command.name()).filter((command) => command !== COMPLETE);
  if (name === undefined) return isFlag ? flags(program) : [...names, 'help'];
  if (name === 'help') return rest.length === 0 ? names : [];
  const command = program.commands.find((candidate) => candidate.name() === name);
  if (command === undefined || name === COMPLETE) return [];
  const open = openOption(command, rest.at(-1));
  if (open?.long === '--tag') return inFile(rest, ({ tags }) => tags);
  if (open !== undefined) return open.argChoices ?? [];
  if (isFlag) return flags(command, rest);
  const argument = argumentAt(command, rest);
  if (argument?.name().toLowerCase() === 'job') return inFile(rest, ({ name: job }) => [job]);
  return argument?.argChoices ?? [];
}

function argumentAt(command: Command, before: readonly string[]): Argument | undefined {
  const given = before.filter((text, index) => {
    return !text.startsWith('-') && openOption(command, before[index - 1]) === undefined;
  });
  const { registeredArguments } = command;
  const last = registeredArguments.at(-1);
  return registeredArguments[given.length] ?? (last?.variadic === true ? last : undefined);
}

/** The option that still needs its value, if the word is one. */
function openOption(command: Command, word: string | undefined): Option | undefined {
  return command.options.find((option) => option.required && word !== undefined && option.long === word);
}

function flags(command: Command, given: readonly string[] = []): readonly string[] {
  const own = command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? '');
  return [...own, '--help'].filter((flag) => !given.includes(flag));
}

/** Names of the jobs file that the command line names, or of the default one. None if it cannot be read. */
function inFile(
  before: readonly string[],
  namesOf: (job: { readonly name: string; readonly tags: readonly string[] }) => readonly string[],
): readonly string[] {
  const at = before.lastIndexOf('--file');
  try {
    return loadFile({ file: at === -1 ? undefined : before[at + 1] }).jobsFile.jobs.flatMap(namesOf);
  } catch (error) {
    // There is nothing to suggest, and a message would appear in the middle of the line that is being typed.
    if (error instanceof ConfigError || error instanceof CliError) return [];
    throw error;
  }
}
