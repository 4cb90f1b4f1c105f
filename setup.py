"""Builds the native core; everything else about the package is in pyproject.toml."""

import os
import sys
import sysconfig
from pathlib import Path

import numpy
from setuptools import Extension, setup

PROCESSORS = os.cpu_count() or 1
NATIVE = Path("src/jitney/runtime/native")
MODULES = {
    **dict.fromkeys(
        ("_native", "_factorize", "_fourier", "_convolve", "_loader", "_multiply"), NATIVE
    ),
    "_walks": Path("src/jitney/core/pytree"),
    "_contexts": Path("src/jitney/core"),
}
# With -O2 `top_k` takes 2.9 times as long, small factorizations 1.2 to 1.6 times. GCC before 14 only
# warns of pointers that Clang refuses.
OPTIONS = (
    "-O3", "-g0", "-pthread", "-fno-math-errno", "-Wno-unused-function",
    "-Werror=incompatible-pointer-types",
)  # fmt: skip
# Sums of products in transforms are rounded as pocketfft's are, on all processors: none is fused, which
# GCC 12 does in loops over complex numbers that it vectorizes, whatever is said of contraction.
OWN_OPTIONS = {"_fourier": ("-ffp-contract=off", "-fno-tree-vectorize")}


def extensions() -> list[Extension]:
    """Translates the extension modules to C, those first that take longest to compile."""
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
    threads = PROCESSORS if sys.platform == "linux" else 0  # its workers are forked
    return cythonize(modules, language_level=3, annotate=False, nthreads=threads)


def is_built() -> bool:
    """Whether the source tree has all extension modules for this Python, newer than their sources."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    built = [folder / f"{name}{suffix}" for name, folder in MODULES.items()]
    sources = [Path("setup.py"), Path("pyproject.toml")]
    sources += [folder / f"{name}.pyx" for name, folder in MODULES.items()]
    sources += [*NATIVE.glob("*.h"), *NATIVE.glob("*.pxi"), *NATIVE.glob("*.pxd")]
    if not all(module.exists() for module in built):
        return False
    return max(x.stat().st_mtime for x in sources) <= min(x.stat().st_mtime for x in built)


# Several environments of one tree (`tools/run.py`) share the modules that the first has compiled;
# an editable installation would compile them into a temporary folder each time.
is_shared = "editable_wheel" in sys.argv and is_built()
setup(
    ext_modules=[] if is_shared else extensions(), options={"build_ext": {"parallel": PROCESSORS}}
)
