"""Runs programs of packages that require JAX, in an environment that has the packages they need.

    python tools/package_programs.py                       all of them
    python tools/package_programs.py quax dynamiqs         these
    python tools/package_programs.py --share 0.1           a tenth, another one each time
    python tools/package_programs.py --share 0.1 --seed 7  the tenth that a run has printed

All packages and what they need are 3 GB, so that only those of the chosen programs are installed, in
`.venv-packages`, of the versions in `tests/libraries/packages.txt`.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-packages"
PINS = ROOT / "tests" / "libraries" / "packages.txt"
LEAST_PYTHON = (3, 12)  # of JAX 0.12


def chosen(names: list[str], share: float, seed: int) -> list[str]:
    """Returns the programs to run: those that are named, or a random share of all, one at least."""
    from tests.libraries.test_packages import PACKAGES

    unknown = {*names} - PACKAGES.keys()
    if unknown:
        raise SystemExit(f"package_programs: there is no program for {', '.join(sorted(unknown))}")
    everything = sorted(PACKAGES)
    if names:
        return names
    return sorted(random.Random(seed).sample(everything, max(1, round(share * len(everything)))))


def requirements(programs: list[str]) -> list[str]:
    """Returns what the programs, this package and its tests need."""
    from tests.libraries.test_packages import PACKAGES

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    own = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    return sorted({*own, "jax", *(x for name in programs for x in PACKAGES[name])})


def prepare(needed: list[str]) -> Path:
    """Installs what is needed in the environment, and makes it if need be; returns its Python."""
    python = VENV / "bin" / "python"
    begun = time.monotonic()
    if not python.exists():
        base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
        subprocess.run([str(base), "-m", "venv", str(VENV)], check=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    install = [*pip, "install", "--no-compile", "--constraint", str(PINS), *needed]
    subprocess.run(install, cwd=ROOT, check=True)
    print(f"{VENV.name} is ready, after {time.monotonic() - begun:.0f} s", flush=True)
    return python


def main() -> int:
    """Runs the programs that the arguments name; returns the status of pytest."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    parser.add_argument("--share", type=float, default=1.0, help="of all programs")
    parser.add_argument("--seed", type=int, default=None, help="of the share that is drawn")
    parser.add_argument(
        "--live-oracle", type=float, default=0.0, help="the share that runs on real JAX, too"
    )
    parser.add_argument(
        "--record-oracle", action="store_true", help="record what all of them compute on real JAX"
    )
    given = parser.parse_args()
    if given.record_oracle and (given.names or given.share != 1):
        parser.error("--record-oracle takes all programs: answers of others would be lost")
    if sys.version_info < LEAST_PYTHON:
        print("package_programs: JAX 0.12 needs Python 3.12 or newer")
        return 2
    sys.path.insert(0, str(ROOT))
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    programs = chosen(given.names, given.share, seed)
    print(
        f"package_programs: {', '.join(programs)} (--share {given.share} --seed {seed})", flush=True
    )
    python = prepare(requirements(programs))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    pytest = [str(python), "-m", "pytest", "-n", "auto", "--all-libraries"]
    tests = [f"tests/libraries/test_packages.py::test_package[{name}]" for name in programs]
    options = (
        ["--record-oracle"] if given.record_oracle else ["--live-oracle", str(given.live_oracle)]
    )
    run = [*pytest, *tests, *options]
    return subprocess.run(run, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
