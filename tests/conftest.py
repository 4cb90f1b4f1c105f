"""What holds for all tests."""

import gc
import os
from collections.abc import Iterator

import pytest

# Programs are compiled, not taken from what earlier runs left on disk; tests of that iteration it on.
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


@pytest.fixture(autouse=True, scope="module")
def collections_are_short() -> Iterator[None]:
    """What earlier files have left is no garbage: collections that tests ask for pass over it.

    Real jax and thousands of programs are millions of objects, which take the better part of a second.
    """
    gc.collect()
    gc.freeze()
    yield
