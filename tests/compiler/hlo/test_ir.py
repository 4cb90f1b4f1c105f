"""The fields of nodes are sorted by their annotations into operands, regions and attributes."""

import numpy as np
import pytest

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder

KINDS = [k for k in vars(ir).values() if isinstance(k, type) and issubclass(k, ir.Node)]


@pytest.mark.parametrize(
    ("kind", "operands", "several", "regions", "attributes"),
    [
        (ir.Iota, (), (), (), ("dim",)),
        (ir.Pad, ("x", "value"), (), (), ("low", "high", "interior")),
        (ir.While, ("init",), ("init",), ("cond", "body"), ()),
        (ir.Cond, ("index", "args"), ("args",), ("cases",), ()),
        (ir.ReduceRegion, ("xs", "inits"), ("xs", "inits"), ("body",), ("dims",)),
        (ir.DynamicUpdateSlice, ("x", "update", "starts"), ("starts",), (), ()),
        (ir.Scatter, ("x", "indices", "updates"), (), ("combine",),
         ("dims", "combine", "mode", "unique")),
    ],
)  # fmt: skip
def test_fields_by_kind(kind, operands, several, regions, attributes):
    fields = ir.fields_of(kind)
    assert (fields.operands, fields.several) == (operands, frozenset(several))
    assert (fields.regions, fields.attributes) == (regions, attributes)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_of_one_sort(kind):
    """Those that may have a region or something else are of two."""
    fields = ir.fields_of(kind)
    declared = {} if kind is ir.Node else kind.__annotations__
    assert {*fields.operands, *fields.regions, *fields.attributes} == set(declared)
    assert not {*fields.operands} & {*fields.regions, *fields.attributes}
    assert fields.several <= {*fields.operands}


def test_names_are_printed_in_lower_case():
    assert ir.kind_name(ir.DynamicUpdateSlice) == "dynamic_update_slice"
    assert ir.kind_name(ir.TopK) == "top_k"
    b = Builder()
    x = b.parameter(0, ir.TensorType((2,), np.dtype(np.float32)))
    assert ir.word(b.apply("sin", x)) == "sin" and ir.word(b.reverse(x, (0,))) == "reverse"


def test_only_nodes_with_one_result_have_a_shape():
    b = Builder()
    x = b.parameter(0, ir.TensorType((2,), np.dtype(np.float32)))
    assert (x.shape, x.dtype) == ((2,), np.float32)
    with pytest.raises(AssertionError):
        _ = b.sort([x], 0, 1, True)[0].node.shape
