"""Sharding rules name factors of axes, and shard the axes that share a factor alike."""

import pytest

from jitney.core.sharding.sharding_rule import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
    parse,
)

EXTENTS = {"x": 2, "y": 4, "z": 3}


def test_the_notation_is_read_into_mappings():
    rule = parse("... (i j) k, k -> ...1 i", j=4)
    assert rule.operand_mappings == (
        ArrayMapping(f"{BATCHING}0", CompoundFactor("i", "j"), "k"),
        ArrayMapping("k"),
    )
    assert rule.result_mappings == (ArrayMapping(f"{BATCHING}1", "i"),)
    assert rule.factor_sizes == {"j": 4}
    assert parse("->").operand_mappings == (ArrayMapping(),)


@pytest.mark.parametrize(
    "text, sizes, message",
    [
        ("i j", {}, "must contain '->' exactly once"),
        ("i -> i -> i", {}, "must contain '->' exactly once"),
        ("i .. -> i", {}, "must have three dots"),
        ("i ... -> i", {}, "must come first"),
        ("((i j)) -> i", {}, "cannot be nested"),
        ("i) -> i", {}, "has no opening parenthesis"),
        ("(i) -> i", {}, "must enclose at least two factors"),
        ("(i j -> i", {}, "is not closed"),
        ("i * j -> i", {}, r"unexpected character '\*'"),
        ("1i -> i", {}, "must begin with a letter"),
        ("(i j) -> i", {}, "pass its size, j=..."),
        ("i -> i", {"i": 3}, "omit i=3"),
        ("i -> i", {"k": 3}, "the size of a factor that no axis has"),
        ("i -> i", {"reduction_factors": ("k",)}, "'k', one of reduction_factors"),
        ("i -> i", {"reduction_factors": "i"}, "must be a tuple of names"),
        (
            "i -> i",
            {"reduction_factors": ("i",), "permutation_factors": ("i",)},
            "must be of one kind",
        ),
    ],
)
def test_wrong_rules_are_refused(text, sizes, message):
    with pytest.raises(ValueError, match=message):
        parse(text, **sizes)
    with pytest.raises(TypeError, match="must be integers"):
        parse("(i j) -> i", j=2.0)


@pytest.mark.parametrize(
    "text, specs, expected",
    [
        ("i k, k j -> i j", [(("x",), ()), ((), ("y",))], [(("x",), ("y",))]),
        ("i k, k j -> i j", [((), ("x",)), (("x",), ())], [((), ())]),
        ("i, i -> i", [(("x",),), (("x", "y"),)], [(("x", "y"),)]),  # the finer one
        ("i, i -> i", [(("x",),), (("y",),)], [((),)]),  # they contradict each other
        ("... i, i -> ... i", [(("x",), ()), (("y",),)], [(("x",), ("y",))]),
    ],
)
def test_results_are_sharded_like_operands(text, specs, expected):
    ranks = [len(spec) for spec in specs]
    rule = parse(text).bound([(24,) * n for n in ranks], [(24,) * len(expected[0])])
    assert rule.of_results(specs, EXTENTS) == expected


def test_compound_factors_are_sharded_from_the_major_one():
    rule = parse("(i j) -> i j").bound([(8,)], [(2, 4)])
    assert rule.of_results([(("x",),)], EXTENTS) == [(("x",), ())]
    assert rule.of_results([(("x", "y"),)], EXTENTS) == [(("x",), ("y",))]
    assert rule.of_results([(("y",),)], EXTENTS) == [((), ())]
    flat = parse("i j -> (i j)").bound([(2, 4)], [(8,)])
    assert flat.of_results([(("x",), ("y",))], EXTENTS) == [(("x", "y"),)]
    assert flat.of_results([((), ("y",))], EXTENTS) == [((),)]


def test_open_operands_take_the_sharding_of_the_others():
    rule = parse("i k, k j -> i j").bound([(8, 8), (8, 8)], [(8, 8)])
    specs = [((), ("x",)), ((), ())]
    assert rule.of_operands(specs, [True, True], EXTENTS) == [((), ("x",)), (("x",), ())]
    assert rule.of_operands(specs, [True, False], EXTENTS) == specs
    taken = [((), ("x",)), ((), ("x",))]  # `x` shards another axis of the second operand
    assert rule.of_operands(taken, [True, True], EXTENTS) == taken


@pytest.mark.parametrize(
    "operands, results, message",
    [
        ([(2, 3)], [], "the rule is for 1 result, but"),
        ([(2,)], [(2,)], "has 1 axis, but the rule has factors for 2"),
        ([(2, 6)], [(2, 4)], "whose sizes have the product 4, but the axis has size 6"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(operands, results, message):
    with pytest.raises(ValueError, match=message):
        parse("i (j k) -> i j", k=1).bound(operands, results)
    assert "reduction_factors=('i',)" in repr(
        SdyShardingRule((ArrayMapping("i"),), (), reduction_factors=("i",))
    )
