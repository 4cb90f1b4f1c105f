"""Headers of each Python and of NumPy, for each platform.

Python's own are the same everywhere but for `pyconfig.h`. They come from an interpreter of that version
on this machine or, where there is none, from Debian's package. NumPy's come from its wheel for the
platform.

What Python's headers read of `pyconfig.h` is alike on all 64-bit systems of these kinds. Debian's files
for x86-64 and AArch64 differ in six lines: assembler of x86, cryptography, the tier of support, and
whether `wchar_t` has a sign, of which all that follows is that <wchar.h> is there. What differs on
macOS is set by `pymacconfig.h`, but for the names that ask for functions of the C library: macOS
has its own.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

from tools.wheels import debian
from tools.wheels.targets import Platform

_ASK = "import sysconfig; print(sysconfig.get_path('include'))"
_LINUX_NAMES = re.compile(
    r"^#define (_GNU_SOURCE|_POSIX_C_SOURCE|_XOPEN_SOURCE|_XOPEN_SOURCE_EXTENDED)\b.*\n",
    re.MULTILINE,
)


def interpreter(python: str) -> str | None:
    """The path of an interpreter of this version on this machine; None if there is none."""
    if python == ".".join(map(str, sys.version_info[:2])):
        return sys.executable
    kept = sorted(Path.home().glob(f".pyenv/versions/{python}.*/bin/python"))
    return str(kept[-1]) if kept else shutil.which(f"python{python}")


def _of_interpreter(python: str) -> Path | None:
    program = interpreter(python)
    if program is None:
        return None
    asked = subprocess.run([program, "-c", _ASK], capture_output=True, text=True, check=True)
    folder = Path(asked.stdout.strip())
    return folder if (folder / "Python.h").exists() else None


def _of_debian(python: str, work: Path) -> tuple[Path, str]:
    """The headers of Debian's package, and the text of its `pyconfig.h`."""
    root = work / "debian" / f"headers-{python}"
    debian.unpack([f"libpython{python}-dev"], python, "x86_64", root, alone=True)
    include = root / "usr" / "include"
    config = include / "x86_64-linux-gnu" / f"python{python}" / "pyconfig.h"
    return include / f"python{python}", config.read_text()


def python_headers(python: str, platform: Platform, work: Path) -> Path:
    """The folder of the headers of `python` for `platform`."""
    kind = "macos" if platform.is_mac else "linux"
    target = work / "headers" / f"python{python}-{kind}"
    if not target.exists():
        found = _of_interpreter(python)
        if found is not None:
            config = (found / "pyconfig.h").read_text()
        else:
            found, config = _of_debian(python, work)
        made = target.with_suffix(".part")
        shutil.rmtree(made, ignore_errors=True)
        shutil.copytree(found, made)
        (made / "pyconfig.h").write_text(config_of(config, platform))
        made.rename(target)
    return target


def config_of(config: str, platform: Platform) -> str:
    """The text of `pyconfig.h` for `platform`, made of that for Linux."""
    if not platform.is_mac:
        return config
    return _LINUX_NAMES.sub("", config) + "\n#define _DARWIN_C_SOURCE 1\n"


def numpy_headers(platform: Platform, work: Path) -> Path:
    """The folder of NumPy's headers for `platform`, of the version that Cython has read."""
    numpy = version("numpy")
    target = work / "headers" / f"numpy-{numpy}-{platform.triple}"
    if not target.exists():
        wheels = work / "numpy" / platform.triple
        download(wheels, platform, "3.11", [f"numpy=={numpy}"])
        made = target.with_suffix(".part")
        with zipfile.ZipFile(next(wheels.glob("numpy-*.whl"))) as wheel:
            folder = "numpy/_core/include/"
            wheel.extractall(made, [n for n in wheel.namelist() if n.startswith(folder)])
        (made / folder).rename(target)
        shutil.rmtree(made)
    return target


def download(folder: Path, platform: Platform, python: str, packages: list[str]) -> None:
    """Has pip download wheels of `packages`, without what they need, for `platform`."""
    subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "download", "--no-deps",
         "--only-binary", ":all:", "--dest", str(folder), *choice(platform, python), *packages],
        check=True,
    )  # fmt: skip


def choice(platform: Platform, python: str) -> list[str]:
    """The options of pip that choose wheels for another platform and Python."""
    options = [x for name in platform.downloads for x in ("--platform", name)]
    return [*options, "--implementation", "cp", "--python-version", python]
