"""`jitney completion`: scripts for shell completion of commands and their options.

The words are taken from the commands and their usage texts.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from jitney.cli import command, usage

USAGE = """\
usage: jitney completion bash    prints a script for ~/.bashrc: source <(jitney completion bash)
       jitney completion zsh     the same for ~/.zshrc
       jitney completion fish    prints a script for ~/.config/fish/completions/jitney.fish
"""
_BASH = """\
_jitney() {
    local IFS=$'\\n' word="${COMP_WORDS[COMP_CWORD]}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words=%(first)s
    else
        case "${COMP_WORDS[1]}" in
%(cases)s
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"; compgen -f -- "$word"))
}
complete -o filenames -F _jitney jitney
"""
_ZSH = """\
#compdef jitney
_jitney() {
    local -a words_
    if (( CURRENT == 2 )); then
        words_=(%(first)s)
        _describe command words_
    else
        case $words[2] in
%(cases)s
        esac
    fi
    _files
}
compdef _jitney jitney
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit code."""
    match list(arguments):
        case ["bash"]:
            print(bash(), end="")
        case ["zsh"]:
            print(zsh(), end="")
        case ["fish"]:
            print(fish(), end="")
        case words:
            return usage.refuse_word(USAGE, words, ["bash", "zsh", "fish"])
    return 0


def words_of(name: str) -> list[str]:
    """Returns the words that can follow a command: its alternatives and options."""
    choices = re.findall(r"\[([\w|]+)\]", command.COMMANDS[name].arguments)
    options = usage.names(command.module_of(name).USAGE)
    return [*[word for choice in choices for word in choice.split("|")], *options, "--help"]


def bash() -> str:
    """Returns the script for bash."""
    first = _lines([*command.COMMANDS, *command.OPTIONS])
    cases = [f"            {name}) words={_lines(words_of(name))} ;;" for name in command.COMMANDS]
    return _BASH % {"first": first, "cases": "\n".join(cases)}


def _lines(words: Sequence[str]) -> str:
    """Quotes words as a bash string of several lines."""
    return "$'" + "\\n".join(words) + "'"


def zsh() -> str:
    """Returns the script for zsh."""
    first = [shlex.quote(f"{name}:{c.what}") for name, c in command.COMMANDS.items()]
    cases = [
        f"            {name}) compadd -- {' '.join(words_of(name))} ;;" for name in command.COMMANDS
    ]
    return _ZSH % {"first": " ".join([*first, *command.OPTIONS]), "cases": "\n".join(cases)}


def fish() -> str:
    """Returns the script for fish."""
    lines = [
        f"complete -c jitney -n __fish_use_subcommand -a {name} -d {shlex.quote(c.what)}"
        for name, c in command.COMMANDS.items()
    ]
    for name in command.COMMANDS:
        where = f"complete -c jitney -n '__fish_seen_subcommand_from {name}'"
        for word in words_of(name):
            lines.append(
                f"{where} -l {word[2:]}" if word.startswith("--") else f"{where} -a {word}"
            )
    return "\n".join(lines) + "\n"
