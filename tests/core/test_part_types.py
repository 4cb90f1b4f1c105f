"""Residuals of a mapped function are sharded along all axes along which they may vary."""

import pytest

from jitney.core.sharding import part_types
from jitney.core.sharding.mesh import AbstractMesh
from jitney.core.sharding.part_types import Divisible
from jitney.core.sharding.partition_spec import PartitionSpec as P

MESH = AbstractMesh((2, 2, 2), ("x", "y", "z"))


class Type(Divisible):
    def __init__(self, *vma):
        self.vma = frozenset(vma)


@pytest.mark.parametrize(
    "vma, check, names, spec",
    [
        (("z", "x"), True, None, P(("x", "z"))),
        ((), True, ("x",), P()),
        (("x",), False, ("z", "y"), P(("z", "y"))),
        (("x",), False, None, P()),
        (("other",), True, None, P()),
    ],
)
def test_specs_of_residuals(vma, check, names, spec):
    assert Type(*vma).nospec(MESH, check, names) == spec


def test_conversions_are_those_of_the_rules_in_use(monkeypatch):
    monkeypatch.setattr(part_types, "_part_types", [None])

    class Rules:
        def part(self, *args):
            return ("part", *args)

        def whole(self, *args):
            return ("whole", *args)

    part_types.use_part_types(Rules())
    x, manual = Type("x"), frozenset("x")
    assert x.shard(MESH, manual, True, P("x")) == ("part", x, MESH, manual, True, P("x"))
    assert x.unshard(MESH, False, P("x")) == ("whole", x, MESH, False, P("x"))
