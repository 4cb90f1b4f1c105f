"""The command `jitney`, which dispatches on its arguments."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from jitney.cli import usage
from jitney.core.util.record import record
from jitney.version import __version__ as jax_version


@record(frozen=True)
class Command:
    """A subcommand, implemented by the module with its name in this folder.

    Attributes:
      arguments: the arguments shown in the usage; alternatives have the form `[one|other]`.
      what: a description of the command.
    """

    arguments: str
    what: str


COMMANDS = {
    "tour": Command("", "compile three programs step by step, with times"),
    "explain": Command(
        "program.py | CODE",
        "describe its compiled functions line by line, or explain an error",
    ),
    "profile": Command("program.py", "show where its time goes, by step and by line"),
    "explore": Command(
        "program.py", "write an HTML page: source, jaxpr, kernels, assembly, fusion"
    ),
    "bench": Command(
        "program.py --function f", "time a function at several sizes, against NumPy, JAX and Numba"
    ),
    "simulate": Command(
        "--mesh 64x8 program.py", "estimate the cost of its lowered programs on a mesh"
    ),
    "measure": Command("", "measure this machine, for the options of simulate"),
    "doctor": Command("", "check the installation; show versions, BLAS, cache, settings"),
    "cache": Command("[list|size|clear|why]", "manage the disk cache of compiled programs"),
    "as-jax": Command(
        "[status|install|remove]", "make `import jax` import jitney without this launcher"
    ),
    "completion": Command("[bash|zsh|fish]", "print a shell script that completes these commands"),
}
OPTIONS = ("-m", "-c", "-i", "-h", "--help", "-V", "--version")
_OF_PYTHON = frozenset(f"-{letter}" for letter in "bBdEIOPqRsSuvWxX")
_COLUMN = 35  # column of the usage at which descriptions of commands start


def _usage_line(name: str, command: Command) -> str:
    head = f"       jitney {name} {command.arguments}".rstrip()
    if len(head) < _COLUMN - 1:
        return f"{head:{_COLUMN}}{command.what}"
    return f"{head}\n{'':{_COLUMN}}{command.what}"


_COMMAND_LINES = "\n".join([_usage_line(name, command) for name, command in COMMANDS.items()])
USAGE = f"""\
usage: jitney program.py [argument ...]
                                   run a program in which `import jax` imports jitney
       jitney -m module [argument ...]
                                   the same for a module
       jitney -c code [argument ...]
                                   the same for a string of code
       jitney [- [argument ...]]   the same for standard input
       jitney -i [program]         the same, followed by Python's prompt with the program's names
{_COMMAND_LINES}
       jitney COMMAND --help       show the options of a command
       jitney --help | --version

`python -m jitney ...` is the same command.
"""


def version() -> str:
    """Returns the version of the installed package."""
    import importlib.metadata  # imported late: it takes a tenth of a program's start-up time

    try:
        return importlib.metadata.version("jitney")
    except importlib.metadata.PackageNotFoundError:  # run from a checkout
        return "0.1.0"


def module_of(name: str) -> ModuleType:
    """Returns the module of a command, which defines `USAGE` and `main(arguments)`."""
    return importlib.import_module(f"jitney.cli.{name.replace('-', '_')}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit code. Errors that the program raises propagate."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    match words:
        case ["-h" | "--help", *_]:
            print(USAGE, end="")
            return 0
        case ["-V" | "--version", *_]:
            print(f"jitney {version()} (interface of jax {jax_version})")
            return 0
        case [name, *remaining] if name in COMMANDS:
            return _run_command(name, remaining)
        case ["-i", *remaining]:
            from jitney.cli import interactive

            return interactive.after(lambda: _run_program(remaining or ["-c", ""]))
        case _:
            return _run_program(words)


def _run_command(name: str, words: Sequence[str]) -> int:
    module = module_of(name)
    if words and words[0] in ("-h", "--help"):
        return usage.show(module.USAGE, words)
    try:
        status = module.main(words)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the report has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _run_program(words: Sequence[str]) -> int:
    from jitney.cli import run

    match words:
        case [] if sys.stdin is None or sys.stdin.isatty():
            return usage.show(USAGE, ["--help"])
        case ["-m" | "-c" as option]:
            return usage.refuse(USAGE, f"{option} needs a value")
        case [] | ["-m" | "-c" | "-", *_]:
            return run.run_words(words)
        case [option, *_] if option.startswith("-"):
            if option[:2] in _OF_PYTHON:
                hint = f", but an option of Python: python {option} -m jitney"
            else:
                hint = usage.did_you_mean(option, OPTIONS)
            return usage.refuse(USAGE, f"{option} is not an option of jitney{hint}")
        case _:
            return _run_file(words)


def _run_file(words: Sequence[str]) -> int:
    from jitney.cli import run

    status = run.run_words(words)
    if status and not os.path.exists(words[0]):
        is_path = words[0].endswith(".py") or os.sep in words[0]
        hint = "" if is_path else usage.did_you_mean(words[0], [*COMMANDS, *OPTIONS])
        if words[0] in ("help", "version"):
            hint = f"; did you mean --{words[0]}?"
        if hint:
            print(f"jitney: {words[0]} is neither a file nor a command{hint}", file=sys.stderr)
    return status
