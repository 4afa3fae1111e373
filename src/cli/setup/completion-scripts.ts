// Each script asks the command that is being completed, so that it never is out of date. Options that name a file or a
// folder are left to the shell.

export const bash = `# bash completion of cronlease. In ~/.bashrc:
#   source <(cronlease completion bash)
_cronlease() {
  local word="\${COMP_WORDS[COMP_CWORD]}" IFS=$'\\n'
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
    --file|--main|--app|--data|--samples|--report|--more-jobs|--prices|--out|--settings) COMPREPLY=($(compgen -f -- "$word")); return ;;
  esac
  if [[ $word != -* && (\${COMP_WORDS[1]} == import && $COMP_CWORD -gt 2 || \${COMP_WORDS[1]} == init && $COMP_CWORD -gt 1) ]]; then
    COMPREPLY=($(compgen -f -- "$word")); return
  fi
  COMPREPLY=($("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o nosort -F _cronlease cronlease`;

export const zsh = `#compdef cronlease
# zsh completion of cronlease. In ~/.zshrc, after compinit:
#   source <(cronlease completion zsh)
_cronlease() {
  case "\${words[CURRENT-1]}" in
    --file|--main|--app|--data|--samples|--report|--more-jobs|--prices|--out|--settings) _files; return ;;
  esac
  if [[ "\${words[CURRENT]}" != -* && ( "\${words[2]}" == import && $CURRENT -gt 3 || "\${words[2]}" == init && $CURRENT -gt 2 ) ]]; then
    _files; return
  fi
  local -a found
  found=("\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "\${found[1]}" ]] && compadd -a found
}
compdef _cronlease cronlease`;

export const fish = `# fish completion of cronlease. Once:
#   cronlease completion fish > ~/.config/fish/completions/cronlease.fish
function __cronlease_complete
  set -l before (commandline -opc)
  if test "$before[2]" = import -a (count $before) -gt 2 -o "$before[2]" = init; and not string match -q -- '-*' (commandline -ct)
    __fish_complete_path (commandline -ct)
    return
  end
  switch "$before[-1]"
    case --file --main --app --data --samples --report --more-jobs --prices --out --settings
      __fish_complete_path (commandline -ct)
    case '*'
      $before[1] __complete -- $before[2..] (commandline -ct) 2>/dev/null
  end
end
complete -c cronlease -f -a '(__cronlease_complete)'`;
