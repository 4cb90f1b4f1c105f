"""`jax.experimental.custom_partitioning`: its rules; on four devices, in processes of their own."""

import gc
import re
import weakref

import numpy as np
import pytest
from tests.helpers.oracle import RealModule, answer, jax
from tests.helpers.programs_alike import lines_alike

import jitney
import jitney.experimental.custom_partitioning as ours
import jitney.numpy as jnp
from jitney.compiler.hlo.sharding_propagation import PartBuilder
from jitney.primitives.parallel.custom_partitioning import _Division

theirs = RealModule("jax.experimental.custom_partitioning")


test_over_devices_like_jax = lines_alike(__file__, "custom_partitioning_on_meshes.py")


RULES = [
    "i j -> i j", "i j, k -> i j", "... i -> ... i", "i (j k) -> i j k", "(i j) -> i j", "->",
    "i ,-> i", "i_1 -> i_1", "i i -> i", "...1 i -> ...1 i", "...i -> ...i", "-> i", "i\tj->i",
    "", "i", "i->j->k", "1 i -> i", "_i -> _i", "(i) -> (i)", "(i (j)) -> i", "i ... -> ...",
    "i-> 3", "(i j -> i", "i j) -> i", "() -> i", "a.b -> a", "... (j k) -> ...", "i - j -> i",
]  # fmt: skip


def _found(make):
    try:
        return str(make())
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule):
    def read(module):
        f = module.custom_partitioning(lambda x: x)
        f.def_partition(None, sharding_rule=rule)
        return f.sharding_rule

    assert _found(lambda: read(ours)) == answer(lambda: _found(lambda: read(theirs)))


@pytest.mark.parametrize(
    "options",
    [
        {"i": 2}, {"q": 2}, {"reduction_factors": ("j",)}, {"reduction_factors": ("q",)},
        {"need_replication_factors": ("j",), "permutation_factors": ("i",)},
        {"need_replication_factors": ("j",), "reduction_factors": ("j",)},
        {"reduction_factors": "j"},
    ],
)  # fmt: skip
def test_options_of_a_rule(options):
    def read(module, rule="i j -> i"):
        f = module.custom_partitioning(lambda x: x)
        f.def_partition(None, sharding_rule=rule, **options)
        return f.sharding_rule

    assert _found(lambda: read(ours)) == answer(lambda: _found(lambda: read(theirs)))


def test_sizes_of_factors():
    def read(module, **sizes):
        f = module.custom_partitioning(lambda x: x)
        f.def_partition(None, sharding_rule="(i j) -> k", **sizes)
        return f.sharding_rule

    for sizes in ({"i": 2, "j": 3}, {"i": 2}, {"i": 2, "j": 1.0}):
        wanted = answer(lambda sizes=sizes: _found(lambda: read(theirs, **sizes)))
        assert _found(lambda: read(ours, **sizes)) == wanted  # noqa: B023


@pytest.mark.parametrize(
    "make",
    [
        lambda m: m.ArrayMapping(m.BATCHING, "i", m.CompoundFactor("j", "k")),
        lambda m: m.ArrayMapping("i", m.BATCHING),
        lambda m: m.ArrayMapping("i", 3),
        lambda m: m.ArrayMapping("1i"),
        lambda m: m.ArrayMapping("...", "i"),
        lambda m: m.CompoundFactor("i"),
        lambda m: m.CompoundFactor(m.BATCHING, "i"),
        lambda m: m.CompoundFactor(1, "i"),
        lambda m: m.SdyShardingRule((m.ArrayMapping("i"),), (m.ArrayMapping("i"),), j=2),
        lambda m: m.custom_partitioning(abs).def_partition(None, sharding_rule=3),
        lambda m: m.custom_partitioning(abs).def_partition(
            None, sharding_rule=m.SdyShardingRule((), ()), reduction_factors=("i",)
        ),
    ],
)
def test_objects(make):
    assert _found(lambda: make(ours)) == answer(lambda: _found(lambda: make(theirs)))


@pytest.mark.parametrize(
    ("rule", "shapes"),
    [
        ("i j -> i", [(4,)]), ("... -> ...", [(3,), (3, 4)]), ("(i j) -> i j", [(7,), (2, 4)]),
    ],
)  # fmt: skip
def test_rules_that_do_not_fit_tell_shapes(rule, shapes):
    f = ours.custom_partitioning(lambda x: x)
    f.def_partition(lambda *_: None, sharding_rule=rule)
    assert isinstance(f.sharding_rule, ours.SdyShardingRule)
    with pytest.raises(ValueError, match=r"sharding rule: .*\d"):
        f.sharding_rule.bound(shapes[:1], shapes[1:] or [(4,)])


def test_program():
    def partition(*_):
        """Never called: there is one device."""

    def printed(library, module):
        f = module.custom_partitioning(lambda x, n: x * n, static_argnums=(1,))
        f.def_partition(partition, sharding_rule="i -> i")
        text = str(library.make_jaxpr(lambda x: f(x, 3))(library.numpy.ones(2)))
        return re.sub("0x[0-9a-f]+", "", text)

    assert printed(jitney, ours) == answer(lambda: printed(jax, theirs))


@pytest.mark.parametrize("number", [2, 5, -3])
def test_static_arguments_that_there_are_not(number):
    def refused(library, module):
        f = module.custom_partitioning(lambda x, n: x * n, static_argnums=(number,))
        f.def_partition(lambda *_: None, sharding_rule="i -> i")
        with pytest.raises(IndexError) as error:
            f(library.numpy.ones(2), 3)
        return str(error.value)

    assert answer(lambda: bool(refused(jax, theirs)))
    message = f"static_argnums contains {number}, but <lambda> was called with 2 arguments"
    assert message in refused(jitney, ours)


def test_closed_over_constants_and_tracers():
    def around(x, y):
        f = ours.custom_partitioning(lambda x: x * y)
        f.def_partition(lambda *_: None, sharding_rule="i -> i")
        return f(x)

    assert jitney.jit(lambda x: around(x, np.float32(2)))(jnp.ones(2)).tolist() == [2, 2]
    with pytest.raises(jitney.errors.UnexpectedTracerError, match="pass the value as an argument"):
        jitney.jit(around)(jnp.ones(2), 2.0)
    with pytest.raises(NotImplementedError, match="custom_vjp around"):
        jitney.grad(lambda x: around(x, 2.0).sum())(jnp.ones(2))
    with pytest.raises(NotImplementedError, match="custom_vmap around"):
        jitney.vmap(lambda x: around(x, 2.0))(jnp.ones((2, 2)))


def test_kinds_of_calls_keep_their_programs():
    """A program that is gone would leave its number to another, which is then taken for it."""
    program = jitney.make_jaxpr(lambda x: x)(1.0)
    kept = weakref.ref(program)
    division = _Division(program, {}, None)
    builder = PartBuilder.for_one_program({division.key: [()]})
    del program, division
    gc.collect()
    assert kept() is not None
    assert builder().places_of(kept()) == ()


@pytest.mark.parametrize("rule", [". i -> i", ".. i -> i", "..i -> i", ".0 i -> i"])
def test_dots_are_three_or_none(rule):
    f = ours.custom_partitioning(lambda x: x)
    with pytest.raises(ValueError, match="must have three dots"):
        f.def_partition(None, sharding_rule=rule)
