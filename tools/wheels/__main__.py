"""Builds wheels for all platforms and Pythons on this machine, checks them, and tries them.

    python tools/run.py wheels                             all of them
    python tools/run.py wheels --only manylinux            those whose names contain a word
    python tools/run.py wheels --only cp313-manylinux --try quick

They come to dist/. What was compiled stays in build/wheels, and is compiled anew when its sources
change. `--try import` installs those that can run here, each where nothing else is, and runs a program;
`--try quick` runs the quick tests there, too. Those for AArch64 run under qemu-user, where that is
installed. Those for macOS and for musl are built and checked, and cannot run here.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
import time
from pathlib import Path

from tools.wheels import build, check, trial
from tools.wheels.targets import PLATFORMS, PYTHONS, STABLE, Platform


def main() -> int:
    """Builds, checks and tries the wheels that the arguments name; returns 1 if one has a fault."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="wheels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=["*"], metavar="WORD", help="a pattern, too")
    parser.add_argument("--try", dest="trial", choices=("import", "quick"))
    given = parser.parse_args()
    wanted = [
        (platform, python)
        for platform in PLATFORMS
        for python in PYTHONS
        if any(
            fnmatch.fnmatch(f"cp{python.replace('.', '')}-{platform.tag}", f"*{word}*")
            for word in given.only
        )
    ]
    if not wanted:
        parser.error(f"no wheel's name contains {' or '.join(given.only)}")
    with tempfile.TemporaryDirectory() as folder:
        return _make(wanted, build.parts(Path(folder)), given.trial)


def _make(wanted: list[tuple[Platform, str]], shared: build.Parts, tried: str | None) -> int:
    """Compiles, packs, checks and tries the wanted wheels; returns 1 if one has a fault."""
    begun = time.monotonic()
    work = build.ROOT / "build" / "wheels"
    compiled = build.compile_all(shared.modules, wanted, work)
    failed = False
    for platform, python in wanted:
        modules = {
            module.name: compiled[module.name, platform, "" if module.name in STABLE else python]
            for module in shared.modules
        }
        wheel = build.pack(shared, modules, platform, python, build.ROOT / "dist")
        faults = check.faults(wheel, platform, python)
        print(
            f"wheels: {wheel.name}: {wheel.stat().st_size:,} bytes, {'; '.join(faults) or 'good'}"
        )
        if tried and not faults:
            faults = trial.faults(wheel, platform, python, work, quick=tried == "quick")
            print(f"wheels: {wheel.name}: {'; '.join(faults) or 'works'}", flush=True)
        failed |= bool(faults)
    print(f"wheels: {len(wanted)} in {time.monotonic() - begun:.0f} s")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
