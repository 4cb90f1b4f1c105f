"""Imports, in a fresh process each."""

from __future__ import annotations

from benchmarks.harness import Call, Side, case


def _nothing(side: Side) -> Call:
    """Imports are timed without any of the side's modules."""
    raise AssertionError(f"an import needs no setup on {side.name}")


case("import_jax", "import jitney / import jax", 4.0, kind="import")(_nothing)
# At most 2.5 times as long as NumPy's, which is a part of it.
case("import_numpy", "import jitney / import numpy", 0.4, kind="import", peer="numpy")(_nothing)
