"""What a wheel has to be before it is given to anybody."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tools.wheels.targets import PYTHONS, STABLE, Platform

# Sources of extension modules; stubs (.pyi) belong to the package.
SOURCES = (".c", ".h", ".pyx", ".pxd", ".pxi")
MODULES = 8
MOST_BYTES = 8_000_000


def faults(wheel: Path, platform: Platform, python: str) -> list[str]:
    """What is wrong with a wheel, a line each."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        data = {n: archive.read(n) for n in names if n.endswith(".so")}
    found = [f"has the source {n}" for n in names if n.endswith(SOURCES)]
    if len(data) != MODULES:
        found.append(f"has {len(data)} extension modules, not {MODULES}")
    for name, image in data.items():
        module = name.rpartition("/")[2].partition(".")[0]
        wanted = platform.file_name(module, "" if module in STABLE else python)
        if not name.endswith(f"/{wanted}"):
            found.append(f"{name} should be {wanted}")
        if b".debug_info" in image or b".symtab" in image:
            found.append(f"{name} is not stripped")
    if wheel.stat().st_size > MOST_BYTES:
        found.append(f"has {wheel.stat().st_size:,} bytes")
    found += _stable_faults(data)
    return found if platform.is_mac else [*found, *_policy_faults(wheel, platform)]


def _stable_faults(data: dict[str, bytes]) -> list[str]:
    """What abi3audit says of the modules of the stable ABI."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, image in data.items():
            if name.endswith(".abi3.so"):
                paths.append(Path(folder) / name.rpartition("/")[2])
                paths[-1].write_bytes(image)
        command = [sys.executable, "-m", "abi3audit", "--assume-minimum-abi3", PYTHONS[0]]
        command += map(str, paths)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else [f"abi3audit: {done.stdout}{done.stderr}"]


def _policy_faults(wheel: Path, platform: Platform) -> list[str]:
    """What auditwheel says against the platform in the wheel's name."""
    command = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    allowed = re.search(r'platform tag:\s*"(\w+)"', done.stdout.replace("\n", " "))
    wanted = platform.tag.partition(".")[0]
    if done.returncode or allowed is None or allowed[1] != wanted:
        return [f"auditwheel: {done.stdout}{done.stderr}"]
    return []
