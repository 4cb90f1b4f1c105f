"""Usage texts of commands, and a parser for the options that they list.

A usage text has a line for each option, `--name VALUE   what it does`, or `--name   what it does`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

# Strings that are compiled when first used: running a program does not need them.
_OPTION = r"(?m)^  (--?[\w-]+)(?: ([A-Z]+))?(?:  |$)"
_NAME = r"(?<![\w-])--[a-z][\w-]*"


def show(usage: str, words: Sequence[str]) -> int:
    """Prints a command's usage and returns the exit code.

    The usage goes to standard output if help was requested, and else to standard error.

    Args:
      usage: the usage text of the command.
      words: its arguments; the first may request help, all others are invalid.
    """
    asked = [*words[:1]] in (["-h"], ["--help"])
    print(usage, end="", file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


def refuse(usage: str, wrong: object) -> int:
    """Prints the first usage line of a command and an error; returns the exit code."""
    command = usage.split()[2] if usage.startswith("usage: jitney ") else ""
    name = f"jitney {command}" if command[:1].isalpha() and "." not in command else "jitney"
    print(f"{usage.splitlines()[0]}\n{name}: {wrong} ({name} --help)", file=sys.stderr)
    return 2


def refuse_word(usage: str, words: Sequence[str], known: Iterable[str] = ()) -> int:
    """Reports an unknown argument or option, or prints the usage; returns the exit code."""
    if not words or words[0] in ("-h", "--help"):
        return show(usage, words)
    known_options = names(usage)
    for word in words:
        if word.startswith("-") and word not in known_options:
            return refuse(usage, _unknown(known_options, word))
    text = " ".join(words)
    return refuse(usage, f"unknown argument {text}{did_you_mean(words[0], known)}")


def names(usage: str) -> list[str]:
    """Returns the options in a usage text, in order."""
    return [*dict.fromkeys(re.findall(_NAME, usage))]


def options(usage: str, words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Returns the values of options by name without dashes, and the other arguments.

    Options without a value map to "".

    Raises:
      ValueError: if an option is unknown, or its value is missing.
    """
    takes = dict(re.findall(_OPTION, usage))
    values: dict[str, str] = {}
    others: list[str] = []
    left = iter(words)
    for word in left:
        if not word.startswith("-") or word == "-":
            others.append(word)
        elif not _read(takes, word, left, values):
            raise ValueError(_unknown(takes, word))
    return values, others


def around_program(
    usage: str, words: Sequence[str], files: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[dict[str, str], list[str]]:
    """Separates the options of a command from the program that it runs.

    The program is a file, or `-m module`, `-c code` or `-`, as for `run.run_words`. Options of the
    command come before it or directly after it. The first other word, or `--`, starts the program's
    arguments. If an argument of the program resembles an option of the command, a hint is printed
    on standard error.

    Args:
      usage: the usage text of the command.
      words: the arguments of the command.
      files: the options whose values are files to write, each with the endings that `check_file`
        accepts. Their paths are made absolute, since the program can change the working directory.

    Returns:
      The values of the options by name without dashes ("" for options without a value), and the
      program with its arguments (empty if there is no program).

    Raises:
      ValueError: if an option before the program is unknown, if the value of one is missing, or if
        a file cannot be written.
    """
    takes = dict(re.findall(_OPTION, usage))
    values: dict[str, str] = {}
    program: list[str] = []
    arguments: list[str] = []
    left = iter(words)
    for word in left:
        if _read(takes, word, left, values):
            continue
        if program:
            arguments = [*([] if word == "--" else [word]), *left]
            if word != "--":
                _note_similar(usage, takes, program, arguments)
        elif word in ("-m", "-c"):
            program = [word, _value(word, left)]
        elif word == "-" or not word.startswith("-"):
            program = [word]
        else:
            raise ValueError(_unknown(takes, word))
    for name, endings in (files or {}).items():
        if name in values:
            check_file(name, values[name], endings)
            values[name] = os.path.abspath(values[name])
    return values, program + arguments


def title(program: Sequence[str]) -> str:
    """Returns the name of a program in reports: its file, `-m module`, `-c`, or `-`."""
    return " ".join(program[:2]) if program[0] == "-m" else program[0]


def _note_similar(
    usage: str, takes: Mapping[str, str], program: Sequence[str], arguments: Sequence[str]
) -> None:
    for word in arguments:
        name = word.partition("=")[0]
        meant = did_you_mean(name, takes) if name.startswith("--") and name not in takes else ""
        if meant:
            command = usage.split()[2]
            text = f"jitney {command}: {name} was passed to {title(program)}{meant}"
            print(text, file=sys.stderr)


PAGES = (".html", ".htm")


def check_file(option: str, path: str, endings: tuple[str, ...] = ()) -> None:
    """Checks that an output file can be written, and that no file of another kind is replaced.

    Args:
      option: the name of the option, without dashes.
      path: the path of the file.
      endings: the suffixes of existing files that may be replaced; if empty, any file may.

    Raises:
      ValueError: if the file cannot be written or should not be replaced; the message names the
        option.
    """
    folder = os.path.dirname(path)
    setting = f"{'-' if len(option) == 1 else '--'}{option} {path}"
    if folder and not os.path.isdir(folder):
        raise ValueError(f"{setting}: folder {folder} does not exist")
    if os.path.isdir(path):
        raise ValueError(f"{setting}: this is a folder; pass the name of a file")
    if path.endswith(endings or "") or not os.path.exists(path) or not os.path.getsize(path):
        return
    raise ValueError(
        f"{setting}: this file exists, and its name does not end in {endings[0]}. To pass "
        f"{setting.split()[0]} to the program, put it after --"
    )


def _read(takes: Mapping[str, str], word: str, left: Iterator[str], values: dict[str, str]) -> bool:
    """Stores the value of option `word`, which can be the next word.

    Returns whether `word` is a known option.
    """
    name, equals, value = word.partition("=")
    if name not in takes:
        return False
    if equals and not takes[name]:
        raise ValueError(f"{name} takes no value")
    if takes[name]:
        value = _value(name, iter([value]) if equals else left)
    values[name.lstrip("-")] = value
    return True


def _value(option: str, left: Iterator[str]) -> str:
    value = next(left, "")
    if not value:
        raise ValueError(f"{option} needs a value")
    return value


def _unknown(known: Iterable[str], word: str) -> str:
    name = word.partition("=")[0]
    return f"unknown option {name}{did_you_mean(name, known)}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns "; did you mean ...?" with the most similar known word; "" if there is none."""
    import difflib  # imported late: loading it takes a millisecond

    match = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {match[0]}?" if match else ""
