"""Builds the native core; everything else about the package is in pyproject.toml."""

from pathlib import Path

from setuptools import Extension, setup

NATIVE = Path("src/jitney/runtime/native/_native.pyx")


def extensions() -> list[Extension]:
    """The extension modules, translated to C."""
    # The package works without the native core, only slower to call: a source tree without it builds.
    if not NATIVE.exists():
        return []
    from Cython.Build import cythonize

    native = Extension(
        "jitney.runtime.native._native",
        [str(NATIVE)],
        extra_compile_args=["-O2", "-pthread"],
        extra_link_args=["-pthread"],
    )
    return cythonize([native], language_level=3, annotate=False)


setup(ext_modules=extensions())
