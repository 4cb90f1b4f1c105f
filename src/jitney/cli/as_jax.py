"""`jitney as-jax`: an environment in which `import jax` imports jitney without the launcher.

It installs two small distributions named `jax` and `jaxlib`. With these, pip considers the
requirements of libraries satisfied, editors find the modules, and `python program.py` uses jitney.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.metadata
import importlib.util
import io
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jitney.cli import usage
from jitney.install import INTERNAL
from jitney.version import __version__ as jax_version

USAGE = """\
usage: jitney as-jax [status | install | remove]

Makes `import jax` import jitney in this environment, in every program and without the launcher.
install adds two small distributions named `jax` and `jaxlib`, which package managers and editors
find. remove (or `pip uninstall jax jaxlib`) removes them. If real JAX is installed, nothing is
changed; `jitney program.py` works in such an environment, too.
"""
DISTRIBUTIONS = ("jax", "jaxlib")
_MARK = "JITNEY"  # a file that marks these distributions' metadata
_JAX = '''\
"""`import jax` imports jitney in this environment: see `jitney as-jax`."""

import sys

del sys.modules["jax"]
try:
    import jitney
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "`import jax` imports jitney in this environment (jitney as-jax install), but jitney is not "
        "installed. Run: pip uninstall jax jaxlib; then, for real JAX: pip install jax"
    ) from error

jitney.install_as_jax()
import jax
'''
_JAXLIB = '''\
"""`import jaxlib` imports jitney's replacement for it: see `jitney as-jax`."""

import sys

del sys.modules["jaxlib"]
import jitney  # if this fails, `import jax` states the cure

jitney.install_as_jax()
import jaxlib
'''


def main(arguments: Sequence[str] = ()) -> int:
    """Runs the command; returns the exit code."""
    match list(arguments):
        case [] | ["status"]:
            return _status()
        case ["install"]:
            return _install()
        case ["remove"]:
            return _remove()
        case words:
            return usage.refuse_word(USAGE, words, ["status", "install", "remove"])


def _status() -> int:
    for name in DISTRIBUTIONS:
        version, is_ours = installed(name)
        where = (
            "not installed" if version is None else f"{version}, of jitney" if is_ours else version
        )
        print(f"{name}: {where}")
    return 0


def _install() -> int:
    for name in DISTRIBUTIONS:
        version, is_ours = installed(name)
        if version is not None and not is_ours:
            print(
                f"jitney as-jax: {name} {version} is installed in this environment. Use jitney "
                "beside it (jitney program.py), or uninstall it first: pip uninstall jax jaxlib",
                file=sys.stderr,
            )
            return 1
    with tempfile.TemporaryDirectory() as folder:
        wheels = [str(wheel) for wheel in make_wheels(Path(folder))]
        status = _pip("install", "--no-deps", "--no-index", "--force-reinstall", *wheels)
    if status == 0:
        print("`import jax` imports jitney in this environment. To undo this: jitney as-jax remove")
    return status


def _remove() -> int:
    ours = [name for name in DISTRIBUTIONS if installed(name)[1]]
    if not ours:
        print("jitney as-jax: jitney is not installed under the name jax", file=sys.stderr)
        return 1
    status = _pip("uninstall", "--yes", *ours)
    if status == 0:
        print("`import jax` no longer imports jitney in this environment")
    return status


def _pip(*words: str) -> int:
    if importlib.util.find_spec("pip") is None:
        print(
            "jitney as-jax: this environment has no pip; first run: python -m ensurepip",
            file=sys.stderr,
        )
        return 1
    command = [sys.executable, "-m", "pip", words[0], "--quiet", "--disable-pip-version-check"]
    return subprocess.run([*command, *words[1:]], check=False).returncode


def installed(name: str) -> tuple[str | None, bool]:
    """Returns (version of a distribution, or None if absent; whether it is one of these two)."""
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None, False
    return distribution.version, distribution.read_text(_MARK) is not None


def make_wheels(folder: Path) -> list[Path]:
    """Writes the wheels of both distributions into a folder."""
    files = {
        "jax": {"jax/__init__.py": _JAX, **_stubs()},
        "jaxlib": {"jaxlib/__init__.py": _JAXLIB},
    }
    return [_wheel(folder, name, files[name]) for name in DISTRIBUTIONS]


def _stubs() -> dict[str, str]:
    """Returns stubs of `jax`'s modules for editors and type checkers; they re-export jitney's."""
    stubs = {f"jax/{path}": f"from {name} import *\n" for name, path in _public_modules()}
    return {**stubs, "jax/experimental/__init__.pyi": "", "jax/py.typed": ""}


def _public_modules() -> Iterator[tuple[str, str]]:
    """Yields (name, path of its stub within the package) of jitney's public modules.

    These are the package, its namespaces, which have stubs, and the modules that a namespace lists.
    """
    spec = importlib.util.find_spec("jitney")
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    for stub in sorted(root.rglob("__init__.pyi")):
        folder = stub.parent.relative_to(root)
        if folder.parts[:1] and folder.parts[0] in (*INTERNAL, "core", "_src"):
            continue
        package = ".".join(["jitney", *folder.parts])
        yield package, (folder / "__init__.pyi").as_posix()
        listed = re.findall(
            rf"^from {re.escape(package)} import (\w+) as \1$", stub.read_text(), re.M
        )
        for name in listed:
            if (stub.parent / f"{name}.py").is_file():
                yield f"{package}.{name}", (folder / f"{name}.pyi").as_posix()
    for file in sorted((root / "experimental").iterdir()):
        if file.suffix == ".py" and not file.stem.startswith("_"):
            yield f"jitney.experimental.{file.stem}", f"experimental/{file.stem}.pyi"
        elif (file / "__init__.py").is_file():
            yield f"jitney.experimental.{file.name}", f"experimental/{file.name}/__init__.pyi"


def _wheel(folder: Path, name: str, files: Mapping[str, str]) -> Path:
    """Writes a wheel of Python files (Wheel 1.0, PEP 427)."""
    info = f"{name}-{jax_version}.dist-info"
    texts = {
        **files,
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {jax_version}\n"
            f"Summary: jitney by the name of {name}: see `jitney as-jax`\n"
        ),
        f"{info}/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: jitney\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
        f"{info}/{_MARK}": "",
    }
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for path, text in texts.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        rows.writerow([path, f"sha256={digest.decode()}", len(text.encode())])
    rows.writerow([f"{info}/RECORD", "", ""])
    wheel = folder / f"{name}-{jax_version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in {**texts, f"{info}/RECORD": record.getvalue()}.items():
            archive.writestr(path, text)
    return wheel
