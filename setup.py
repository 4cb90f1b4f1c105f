"""Builds the native core; everything else about the package is in pyproject.toml."""

from pathlib import Path

import numpy
from setuptools import Extension, setup

NATIVE = Path("src/jitney/runtime/native")
MODULES = {
    **dict.fromkeys(("_native", "_loader", "_convolve", "_fourier", "_multiply"), NATIVE),
    "_walks": Path("src/jitney/core/pytree"),
    "_contexts": Path("src/jitney/core"),
}
OPTIONS = ("-O3", "-pthread", "-fno-math-errno", "-Wno-unused-function")
# Sums of products in transforms are rounded as pocketfft's are, whatever the processor has.
OWN_OPTIONS = {"_fourier": ("-ffp-contract=off",)}


def extensions() -> list[Extension]:
    """Translates the extension modules to C: the core, the loader, kernels, walks, contexts."""
    from Cython.Build import cythonize

    modules = [
        Extension(
            ".".join([*folder.parts[1:], name]),
            [str(folder / f"{name}.pyx")],
            depends=[str(part) for part in (*NATIVE.glob("*.h"), *NATIVE.glob("*.pxi"))],
            include_dirs=[numpy.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
            extra_compile_args=[*OPTIONS, *OWN_OPTIONS.get(name, ())],
            extra_link_args=["-pthread"],
        )
        for name, folder in MODULES.items()
    ]
    return cythonize(modules, language_level=3, annotate=False)


setup(ext_modules=extensions())
