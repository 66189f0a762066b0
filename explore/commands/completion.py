"""The scripts that complete the words of `explore` in a shell: its commands, the options of each,
the programs that are known by name, and files.

The script of a shell is written once, of what each command says of itself; a shell that completes a
word runs nothing of ours.
"""

from collections.abc import Mapping, Sequence

Options = Mapping[str, str]  # of each command, with spaces between; of `explore P.lift` at ""
Names = Sequence[str]

BASH = """\
# The completion of explore in bash:  source <(explore completion bash)
_explore() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} options
  case $command in
{cases}
    *) options="{start}" ;;
  esac
  COMPREPLY=()
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "{words}" -- "$word"))
  elif [[ $command == init ]]; then
    COMPREPLY=($(compgen -W "{examples}" -- "$word"))
  elif [[ $command == completion ]]; then
    COMPREPLY=($(compgen -W "{shells}" -- "$word"))
  fi
}}
complete -o default -o bashdefault -F _explore explore
"""
ZSH = """\
# The completion of explore in zsh:  source <(explore completion zsh)
autoload -U +X bashcompinit && bashcompinit
"""
FISH = "# The completion of explore in fish:  explore completion fish | source\n"
SHELLS = ("bash", "zsh", "fish")


def script(shell: str, options: Options, examples: Names, layers: Names) -> str:
    """The text of the completion for a shell. `options` has the options of each command; `examples`
    and `layers` are the names of programs that can be explored."""
    return (
        _fish(options, examples, layers)
        if shell == "fish"
        else _bash(shell, options, examples, layers)
    )


def _bash(shell: str, options: Options, examples: Names, layers: Names) -> str:
    cases = "\n".join(
        f'    {name}) options="{words}" ;;' for name, words in options.items() if name
    )
    text = BASH.format(
        cases=cases,
        start=options[""],
        words=" ".join([*filter(None, options), *examples, *layers]),
        examples=" ".join(examples),
        shells=" ".join(SHELLS),
    )
    return ZSH + text if shell == "zsh" else text


def _fish(options: Options, examples: Names, layers: Names) -> str:
    commands = " ".join(filter(None, options))
    lines = [f"complete -c explore -n __fish_use_subcommand -a '{commands}'"]
    lines += [f"complete -c explore -n __fish_use_subcommand -a '{' '.join(layers)}'"]
    for place in ("__fish_use_subcommand", "'__fish_seen_subcommand_from init'"):
        lines.append(f"complete -c explore -n {place} -a '{' '.join(examples)}'")
    for name, words in options.items():
        unless = f"not __fish_seen_subcommand_from {commands}"
        when = f"__fish_seen_subcommand_from {name}" if name else unless
        lines += [
            f"complete -c explore -n '{when}' -l {option.removeprefix('--')}"
            for option in words.split()
        ]
    return FISH + "\n".join(lines) + "\n"
