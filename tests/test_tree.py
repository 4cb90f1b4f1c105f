"""Fields of dataclasses are static data of their pytrees."""

import dataclasses

from jitney import tree, tree_util


@tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    """Weights, and a size that is not a leaf."""

    weights: object
    size: int = tree.static(default=3, metadata={"unit": "cm"})


def test_static_fields_are_part_of_the_structure():
    layer = Layer(1.5)
    assert tree.leaves(layer) == [1.5] and layer.size == 3
    assert tree.structure(layer) != tree.structure(Layer(1.5, size=4))
    doubled = tree.map(lambda x: 2 * x, Layer(1.5, size=4))
    assert doubled == Layer(3.0, size=4)


def test_other_metadata_are_kept():
    (field,) = [f for f in dataclasses.fields(Layer) if f.name == "size"]
    assert dict(field.metadata) == {"static": True, "unit": "cm"}


def test_static_fields_follow_options_of_dataclasses():
    field = tree.static(default_factory=list, repr=False)
    assert field.default_factory is list and field.repr is False
