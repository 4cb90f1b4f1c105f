"""Shardings in Shardy's notation."""

import pytest

from jitney.core.sharding.shardy import TensorSharding, parse_tensor_sharding

TEXTS = {
    "<@mesh, []>": TensorSharding((), ()),
    '<@mesh, [{"x"}, {}]>': TensorSharding((("x",), ()), (False, False)),
    '<@mesh, [{"x", "y", ?}, {?}]>': TensorSharding((("x", "y"), ()), (True, True)),
    '<@mesh, [{}], replicated={"a", "b"}, unreduced={"c"}>': TensorSharding(
        ((),), (False,), ("a", "b"), ("c",)
    ),
}


@pytest.mark.parametrize("text", TEXTS)
def test_text_and_back(text):
    assert repr(TEXTS[text]) == text
    assert parse_tensor_sharding(text) == TEXTS[text]


@pytest.mark.parametrize("text", ["", "<@mesh>", "<@mesh, [{}]", '<@mesh, [{"x"}]> more'])
def test_what_is_none(text):
    with pytest.raises(ValueError, match="a sharding must be of the form"):
        parse_tensor_sharding(text)
