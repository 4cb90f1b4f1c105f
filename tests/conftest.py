"""What holds for all tests."""

import gc
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

# Tests of what touches NumPy, SciPy, llvmlite, ml_dtypes and opt_einsum directly: they run with the
# oldest versions of these, too. Of all other tests a fixed tenth does.
COMPATIBILITY = (
    "cli",
    "compiler/codegen",
    "compiler/reference",
    "compiler/scalar",
    "compiler/test_",
    "core/test_avals",
    "core/test_namespaces",
    "core/test_small_dtypes",
    "fuzz",
    "numpy/test_array_methods",
    "numpy/test_fft",
    "numpy/test_linalg",
    "runtime",
    "scipy/test_fft",
    "scipy/test_linalg",
    "scipy/test_special",
)
TENTH = 10

# Programs are compiled, not loaded from the disk cache of earlier runs; tests of the disk cache turn
# it back on.
os.environ["JITNEY_ENABLE_COMPILATION_CACHE"] = "0"
# Real jax's programs are small and run once: its optimisations cost more than they save.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option `--all-libraries`."""
    parser.addoption(
        "--all-libraries",
        action="store_true",
        help="tests of libraries that are not installed fail; otherwise they are skipped",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of the run with the oldest dependencies as `compat`."""
    for item in items:
        place = item.path.relative_to(TESTS).as_posix()
        # By a checksum, so that the tenth stays the same when tests are added.
        drawn = zlib.crc32(item.nodeid.encode()) % TENTH == 0
        if drawn or place.startswith(COMPATIBILITY):
            item.add_marker(pytest.mark.compat)


@pytest.fixture(autouse=True, scope="module")
def collections_are_short() -> Iterator[None]:
    """What earlier files have left is no garbage: collections that tests ask for pass over it.

    Real jax and thousands of programs are millions of objects, which take the better part of a second.
    """
    gc.collect()
    gc.freeze()
    yield
