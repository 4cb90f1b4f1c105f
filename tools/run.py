"""The project's commands: each makes an environment the first time, and finds it there later.

    python tools/run.py tour          three programs on their way to machine code
    python tools/run.py test          all tests; what follows is handed to pytest
    python tools/run.py test-live     so, with real jax: 3 % of its recorded answers are computed anew
    python tools/run.py test-older    tests whose answers are of JAX 0.10.2, all of them computed anew
    python tools/run.py test-quick    a twelfth of the tests, up to the first failure
    python tools/run.py compat        tests of what touches dependencies, and a tenth of all others
    python tools/run.py oracle        records what real jax answers to new cases; a test file may follow
    python tools/run.py fuzz          random programs; what follows is handed to the fuzzer
    python tools/run.py libraries     libraries for JAX on this package, beside real jax
    python tools/run.py packages      programs of packages that require JAX; names of some may follow
    python tools/run.py packages-sample   a tenth of them, another one each time
    python tools/run.py sanitize      the native core under AddressSanitizer and ThreadSanitizer
    python tools/run.py format        the code, as lint wants it
    python tools/run.py lint          ruff, pyright, layers, annotations, borrowed text, commit messages
    python tools/run.py bench         against real jax; what follows is handed to the benchmarks
    python tools/run.py wheels        wheels for all platforms and Pythons: see `wheels --help`
    python tools/run.py docs          the site of the documents, in docs/_build/html
    python tools/run.py pictures      pictures of the documents, in docs/images; names may follow

All that follows the command is the program's; options of this one come before the command.
With `--oldest` the environment has the oldest versions that pyproject.toml allows of what the package
needs, in place of the newest. Libraries and packages, of versions that are pinned, have environments of
their own; `--newest libraries` takes the newest of each instead, on the newest Python that is found,
and asks real JAX what they compute.
The Makefile calls this; a machine without make has Python.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LEAST_PYTHON = (3, 11)


class Command(NamedTuple):
    """What a command runs, one program after the other, of those of the environment.

    Attributes:
      needs: what has to be installed, a key of EXTRAS.
      steps: the programs and their arguments; what follows the command is handed to each.
    """

    needs: str
    steps: list[list[str]]


PYTEST_BY_TEST = ["python", "-m", "pytest", "-n", "auto"]
# A file's tests run in one process: what they share is made once.
PYTEST = [*PYTEST_BY_TEST, "--dist", "loadfile", "--no-loadscope-reorder"]
LIBRARY_TESTS = [*PYTEST_BY_TEST, "--all-libraries", "tests/libraries/test_libraries.py"]
PACKAGES = ["python", "tools/package_programs.py"]
RUFF = ["ruff", "check", "--output-format", "concise", "."]
# Tests some of whose recorded answers are of JAX 0.10.2, which Python 3.11 takes: how many.
OLDER_ANSWERS = {
    "tests/api/test_meshes.py": 2,
    "tests/api/test_pullback.py": 1,
    "tests/core/test_promotion_of_64_bits.py": 1,
    "tests/experimental/test_hijax.py": 34,
    "tests/experimental/test_places.py": 1,
    "tests/extend/test_function_calls.py": 4,
    "tests/extend/test_user_primitives.py": 1,
    "tests/numpy/test_against_jax.py": 2,
    "tests/primitives/test_weak_types.py": 1,
    "tests/scipy/test_special.py": 3,
}
FORMAT = ["ruff", "format", "--check", "."]
COMMANDS = {
    "tour": Command("run", [["jitney", "tour"]]),
    "test": Command("test", [PYTEST]),
    "test-live": Command("live", [[*PYTEST, "--live-oracle", "0.03", "--strict-skips"]]),
    "test-older": Command("oracle", [[*PYTEST, "--live-oracle", "1", *OLDER_ANSWERS]]),
    "compat": Command("test", [[*PYTEST, "-m", "compat"]]),
    "test-quick": Command("test", [[*PYTEST, "-m", "quick", "-x"]]),
    "oracle": Command("oracle", [[*PYTEST, "--record-oracle"]]),
    "libraries": Command("libraries", [LIBRARY_TESTS]),
    "packages": Command("test", [PACKAGES]),
    "packages-sample": Command("test", [[*PACKAGES, "--share", "0.1", "--live-oracle", "0.1"]]),
    "fuzz": Command("oracle", [["python", "-m", "tests.fuzz.differential", "run"]]),
    "sanitize": Command("test", [["python", "tools/sanitize.py"]]),
    "format": Command("test", [["ruff", "check", "--fix"], ["ruff", "format"]]),
    "lint": Command(
        "oracle",
        [
            RUFF,
            FORMAT,
            ["pyright", "--level", "error"],
            ["lint-imports", "--no-logo"],
            ["python", "tools/annotations.py"],
            ["python", "tools/borrowed.py"],
            ["python", "tools/commits.py"],
        ],
    ),
    "bench": Command("bench", [["python", "-m", "benchmarks"]]),
    "wheels": Command("wheels", [["python", "-m", "tools.wheels"]]),
    "docs": Command(
        "docs",
        [["sphinx-build", "-W", "--keep-going", "-q", "-j", "auto", "docs", "docs/_build/html"]],
    ),
    "pictures": Command("run", [["python", "-m", "tools.pictures"]]),
}
# What they compute on JAX is not recorded for these versions.
NEWEST_LIBRARIES = Command("test", [[*LIBRARY_TESTS, "--newest-libraries"]])
# What is installed beside the package, by names of extras in pyproject.toml.
EXTRAS = {
    "run": [],
    "test": ["test"],
    "oracle": ["test", "oracle"],
    "live": ["test", "oracle", "notebooks"],
    "bench": ["bench"],
    "wheels": ["wheels"],
    "docs": ["docs"],
    "libraries": ["test", "libraries"],
}


def lower_bounds() -> list[str]:
    """The packages that the package needs, each at the oldest version that is allowed."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [re.sub(r">=([\d.]+).*", r"==\1", needed) for needed in project["dependencies"]]


def unpinned() -> list[str]:
    """The libraries that programs of tests use, of any version."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [name.partition("==")[0] for name in project["optional-dependencies"]["libraries"]]


def newest_python() -> str:
    """The newest Python on the path for which JAX's newest release is made; else this one."""
    names = (f"python3.{minor}" for minor in (14, 13, 12))
    return next(filter(None, map(shutil.which, names)), sys.executable)


def _is_fresh(stamp: Path) -> bool:
    """Whether nothing that an installation depends on has changed since `stamp`."""
    sources = [ROOT / "pyproject.toml", ROOT / "setup.py"]
    for kind in ("*.pyx", "*.pxd", "*.pxi", "*.h"):
        sources += (ROOT / "src").glob(f"jitney/**/{kind}")
    return stamp.exists() and all(x.stat().st_mtime <= stamp.stat().st_mtime for x in sources)


def _say(what: str) -> None:
    print(f"tools/run.py: {what}", file=sys.stderr, flush=True)


def prepare(venv: Path, what: str, python: str, also: list[str]) -> Path:
    """Makes `venv` ready for commands that need `what` installed; returns its folder of programs.

    `also` are requirements besides.
    """
    programs, stamp = venv / "bin", venv / f".{what}"
    if _is_fresh(stamp):
        return programs
    begun = time.monotonic()
    if not (programs / "python").exists():
        _say(f"making the environment {venv.name}")
        subprocess.run([python, "-m", "venv", str(venv)], check=True)
    pip = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    package = f".[{','.join(EXTRAS[what])}]" if EXTRAS[what] else "."
    beside = " and real JAX, the oracle of tests," if "oracle" in EXTRAS[what] else ""
    _say(
        f"installing {package}{beside} into {venv.name}: dependencies (some 400 MB, and more for "
        "tests), and the native core, which is compiled in half a minute on two processors"
    )
    # Python compiles what is imported; to compile all of what is installed takes most of the time.
    install = [*pip, "install", "--no-compile", *also, "-e", package]
    subprocess.run(install, cwd=ROOT, check=True)
    _say(f"{venv.name} is ready, after {time.monotonic() - begun:.0f} s")
    for less, extras in EXTRAS.items():
        if set(extras) <= set(EXTRAS[what]):
            (venv / f".{less}").touch()
    return programs


def _default_venv(command: Command, oldest: bool, newest: bool) -> str:
    if oldest:
        return ".venv-oldest"
    if newest:
        return ".venv-newest-libraries"
    return ".venv-libraries" if command.needs == "libraries" else ".venv"


def main() -> int:
    """Runs the command that the arguments name; returns the first status other than 0."""
    if sys.version_info < LEAST_PYTHON:
        print(
            f"Python {'.'.join(map(str, LEAST_PYTHON))} or newer is needed, this is {sys.version}"
        )
        return 2
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--oldest", action="store_true", help="with the oldest dependencies")
    parser.add_argument("--newest", action="store_true", help="with the newest libraries")
    parser.add_argument("--python", help="that makes the environment")
    parser.add_argument("--venv", help="its folder: .venv, .venv-oldest or .venv-libraries")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="is handed to the command's program")
    given = parser.parse_args()

    command = COMMANDS[given.command]
    if given.rest and len(command.steps) > 1:
        programs = ", ".join([" ".join(step[:2]) for step in command.steps])
        parser.error(
            f"{given.command} takes no arguments, for it runs several programs: {programs}"
        )
    if given.newest:
        if given.command != "libraries":
            parser.error("--newest is an option of the command `libraries` alone")
        command = NEWEST_LIBRARIES
    venv = ROOT / (given.venv or _default_venv(command, given.oldest, given.newest))
    python = given.python or (newest_python() if given.newest else sys.executable)
    also = lower_bounds() if given.oldest else unpinned() if given.newest else []
    try:
        programs = prepare(venv, command.needs, python, also)
    except subprocess.CalledProcessError as error:
        print(f"tools/run.py: the environment {venv} could not be made", file=sys.stderr)
        return error.returncode or 1
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}"}
    # With it each process would compile all that it imports.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    status = 0
    for step in command.steps:
        program = [str(programs / step[0]), *step[1:], *given.rest]
        found = subprocess.run(program, cwd=ROOT, env=environment, check=False).returncode
        status = status or found
    return status


if __name__ == "__main__":
    sys.exit(main())
