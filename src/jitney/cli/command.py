"""The command `jitney`: what its words mean."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jitney.version import __version__ as jax_version

USAGE = """\
usage: jitney program.py [argument ...]    run a program; its `import jax` gives jitney
       jitney -m module [argument ...]     the same for a module
       jitney -c code [argument ...]       the same for a text
       jitney - [argument ...]             the same for standard input
       jitney tour                         three programs on their way to machine code, and their times
       jitney explain program.py           what the functions that it compiles do, in their own lines
       jitney explain CODE                 what the error of a code means: jitney explain bool-of-tracer
       jitney profile program.py           where its time goes, by step and by line
       jitney explore program.py           a page of them: source, jaxpr, kernels, assembly, fusion
       jitney bench program.py --function f
                                           its times over sizes, beside NumPy's, JAX's and Numba's
       jitney simulate --mesh 64x8 program.py
                                           what the programs that it lowers would take on such a mesh
       jitney measure                      the rates of this machine, as options of simulate
       jitney doctor                       versions, compiler, BLAS, cache, settings; tests itself
       jitney cache [list|size|clear|why]  the compiled programs that are kept on disk
       jitney --help | --version

`python -m jitney ...` is the same command.
"""


def version() -> str:
    """The version of the installed package."""
    import importlib.metadata  # a tenth of the time in which a program starts

    try:
        return importlib.metadata.version("jitney")
    except importlib.metadata.PackageNotFoundError:  # run from a checkout
        return "0.1.0"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; gives the exit code. Whatever the program raises is raised."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    match words:
        case [] | ["-h" | "--help", *_]:
            print(USAGE, end="")
            return 0
        case ["-V" | "--version", *_]:
            print(f"jitney {version()} (interface of jax {jax_version})")
            return 0
        case ["tour", *rest]:
            from jitney.cli import tour

            return tour.main(rest)
        case ["explain", *rest]:
            from jitney.cli import explain

            return explain.main(rest)
        case ["explore", *rest]:
            from jitney.cli import explore

            return explore.main(rest)
        case ["bench", *rest]:
            from jitney.cli import bench

            return bench.main(rest)
        case ["profile", *rest]:
            from jitney.cli import profile

            return profile.main(rest)
        case ["simulate", *rest]:
            from jitney.cli import simulate

            return simulate.main(rest)
        case ["measure", *rest]:
            from jitney.cli import measure

            return measure.main(rest)
        case ["doctor", *rest]:
            from jitney.cli import doctor

            return doctor.main(rest)
        case ["cache", *rest]:
            from jitney.cli import cache

            return cache.main(rest)
        case ["-m" | "-c" as option]:
            print(f"jitney: argument expected for the {option} option", file=sys.stderr)
            print(USAGE, end="", file=sys.stderr)
            return 2
    from jitney.cli import run

    match words:
        case ["-m", module, *rest]:
            return run.run_module(module, rest)
        case ["-c", code, *rest]:
            return run.run_code(code, rest)
        case ["-", *rest]:
            return run.run_code(sys.stdin.buffer.read(), rest, name="-")
        case [option, *_] if option.startswith("-"):
            print(f"jitney: unknown option {option}", file=sys.stderr)
            print(USAGE, end="", file=sys.stderr)
            return 2
    return run.run_path(words[0], words[1:])
