"""The package's build backend: setuptools', with a C compiler from PyPI where the machine has none.

Python's slim images have no compiler. The build then asks for `ziglang`, an ordinary wheel, and
compiles with `python -m ziglang cc`. Named in pyproject.toml; the functions are those of PEP 517 and
PEP 660.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from typing import Any

from setuptools import build_meta as setuptools_backend

get_requires_for_build_sdist = setuptools_backend.get_requires_for_build_sdist
prepare_metadata_for_build_wheel = setuptools_backend.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = setuptools_backend.prepare_metadata_for_build_editable
build_sdist = setuptools_backend.build_sdist

ZIG = "ziglang>=0.13"


def compiler() -> str | None:
    """The command of the machine's C compiler: $CC, the one that built Python, or a usual name."""
    given = os.environ.get("CC")
    if given:
        return given
    of_python = sysconfig.get_config_var("CC") or ""
    for command in (of_python, "cc", "gcc", "clang"):
        if command and shutil.which(shlex.split(command)[0]):
            return command
    return None


def _zig() -> list[str]:
    return [] if compiler() else [ZIG]


def _choose_compiler() -> None:
    """Sets $CC, which setuptools obeys when it compiles and when it links."""
    # Any processor of the kind may come to run the wheel, so zig may not compile for this very one.
    zig = f"{shlex.quote(sys.executable)} -m ziglang cc -mcpu=baseline"
    command = os.environ["CC"] = compiler() or zig
    if command == zig:
        os.environ.setdefault("LDSHARED", f"{zig} -shared")
    print(f"C compiler: {command}")


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """What has to be installed to build: that of setuptools, and the compiler if there is none."""
    return [*setuptools_backend.get_requires_for_build_wheel(config_settings), *_zig()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """As `get_requires_for_build_wheel`."""
    return [*setuptools_backend.get_requires_for_build_editable(config_settings), *_zig()]


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Builds a wheel; returns its name."""
    _choose_compiler()
    return setuptools_backend.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Builds the wheel of an editable installation; returns its name."""
    _choose_compiler()
    return setuptools_backend.build_editable(wheel_directory, config_settings, metadata_directory)
