"""Installs a wheel where nothing else is, runs a program with it, and the quick tests."""

from __future__ import annotations

import os
import platform as this_machine
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tools.wheels import debian
from tools.wheels.build import ROOT
from tools.wheels.headers import choice, interpreter
from tools.wheels.targets import Platform

TEST_PACKAGES = ["pytest>=8", "pytest-xdist>=3.5", "hypothesis>=6.100", "mpmath>=1.3"]
# What the tests read beside the package.
PROJECT = (
    "tests",
    "tools",
    "benchmarks",
    "docs",
    "typings",
    "pyproject.toml",
    "setup.py",
    "README.md",
)
# A processor without SVE, with which OpenBLAS's products of matrices are NaN in qemu 7.2, and without
# pointer authentication, which takes long to emulate.
EMULATED = "cortex-a72"
QUICK = ["-m", "pytest", "-m", "quick", "-q", "-p", "no:cacheprovider"]
# Says where the package is, and computes on all ways that code comes about: eager, compiled, native.
PROGRAM = """
import jitney
import jitney.numpy as jnp
x = jnp.arange(12, dtype="float32").reshape(3, 4) + jnp.eye(3, 4)
f = jitney.jit(lambda x: jnp.tanh(x @ x.T).sum() + jnp.fft.fft(x).real.sum() + jnp.sort(x)[0, 0])
g = jitney.grad(lambda x: jnp.linalg.slogdet(x[:, :3].T @ x[:, :3] + jnp.eye(3))[1])
found = float(f(x)), float(abs(g(x)).sum())
print(*found, jitney.__file__)
assert abs(found[0] - 62) < 1e-4 and abs(found[1] - 3.34432) < 1e-4
"""
# Runs a program with a folder as its root, and the project in /project.
ENTER = """
set -e
root=$0
mount --make-rprivate /
mkdir -p "$root/proc" "$root/dev" "$root/tmp"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
exec chroot "$root" /bin/sh -c 'cd /project && exec "$@"' sh "$@"
"""


def faults(wheel: Path, platform: Platform, python: str, work: Path, quick: bool) -> list[str]:
    """What goes wrong with a wheel where it is installed; nothing where it cannot run here.

    Args:
      wheel: its file.
      platform: the platform that it is for.
      python: the version of Python.
      work: the folder of environments and of Debian's files.
      quick: the quick tests run, too.
    """
    if platform.is_mac or platform.is_musl or not sys.platform.startswith("linux"):
        return []
    is_native = platform.machine == this_machine.machine()
    make = _in_environment if interpreter(python) and is_native else _on_machine
    try:
        way = make(wheel, platform, python, work)
    except debian.Missing as missing:
        print(f"wheels: {wheel.name}: not tried: {missing}", flush=True)
        return []
    found = _run(way, "-P", "-c", PROGRAM)
    if not found and quick:
        found = _run(way, *QUICK, "-n", "2")
    return found


class Way(NamedTuple):
    """How Python is run where a wheel is installed: its command, in what environment and folder."""

    command: list[str]
    environment: dict[str, str]
    folder: Path


def _run(way: Way, *arguments: str) -> list[str]:
    """What Python prints when it fails."""
    done = subprocess.run(
        [*way.command, *arguments], cwd=way.folder, env=os.environ | way.environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.strip().splitlines()
    print(f"wheels: {lines[-1] if lines else 'nothing was printed'}", flush=True)
    return [f"{done.stdout[-4000:]}{done.stderr[-4000:]}"] if done.returncode else []


def _project(folder: Path, site: str) -> Path:
    """Copies the tests to `folder`, where the installed package stands in the place of its sources."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "src").mkdir(parents=True)
    for name in PROJECT:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, folder / name)
    (folder / "src" / "jitney").symlink_to(f"{site}/jitney")
    return folder


def _in_environment(wheel: Path, platform: Platform, python: str, work: Path) -> Way:
    """Installs a wheel in a new environment of this machine's Python; how it is run there."""
    venv = work / "environments" / python
    shutil.rmtree(venv, ignore_errors=True)
    subprocess.run([str(interpreter(python)), "-m", "venv", str(venv)], check=True)
    program = str(venv / "bin" / "python")
    subprocess.run(
        [program, "-m", "pip", "--disable-pip-version-check", "-q", "install"]
        + [str(wheel), *TEST_PACKAGES],
        check=True,
    )
    site = venv / "lib" / f"python{python}" / "site-packages"
    return Way([program], {"PYTHONPATH": ""}, _project(venv / "project", str(site)))


def _on_machine(wheel: Path, platform: Platform, python: str, work: Path) -> Way:
    """Installs a wheel beside Debian's Python, unpacked in a folder; how it is run there.

    Another processor's is run by `qemu-user`, this one's with the folder as its root.
    """
    root = work / "machines" / f"python{python}-{platform.machine}"
    is_native = platform.machine == this_machine.machine()
    emulator = f"qemu-{platform.machine}"  # Debian's package qemu-user, or qemu-user-static
    qemu = shutil.which(emulator) or shutil.which(f"{emulator}-static")
    if not is_native and qemu is None:
        raise debian.Missing(f"{emulator} is not installed")
    packages = [f"python{python}", "libstdc++6", "zlib1g", "dash"]
    debian.unpack(packages, python, platform.machine, root, alone=False)
    for name in ("lib", "lib64", "bin"):  # as its package `base-files` has them, or a script of it
        if not (root / name).exists() and (root / "usr" / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    site = root / "opt" / "site"
    shutil.rmtree(site, ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install"]
        + ["--target", str(site), "--only-binary", ":all:", *choice(platform, python)]
        + [str(wheel), *TEST_PACKAGES],
        check=True,
    )
    project = _project(root / "project", "/opt/site" if is_native else str(site))
    if is_native:
        enter = ["unshare", "--mount", "sh", "-c", ENTER, str(root)]
        return Way([*enter, f"/usr/bin/python{python}"], {"PYTHONPATH": "/opt/site"}, project)
    assert qemu is not None
    # What tests start by `sys.executable` is another processor's program, too: a script of this one's
    # shell runs the emulator for it.
    program = root / "usr" / "bin" / f"python{python}"
    script = root / "python"
    script.write_text(f'#!/bin/sh\nexec {qemu} -L {root} {program} "$@"\n')
    script.chmod(0o755)
    (site / "sitecustomize.py").write_text(f"import sys\n\nsys.executable = {str(script)!r}\n")
    environment = {"PYTHONPATH": str(site), "QEMU_LD_PREFIX": str(root), "QEMU_CPU": EMULATED}
    return Way([str(script)], environment, project)
