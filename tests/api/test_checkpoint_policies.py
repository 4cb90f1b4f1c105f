"""Policies decide by the primitive and its parameters what is saved."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.ad_checkpoint import checkpoint_name
from jitney.api.autodiff import checkpoint_policies as policies
from jitney.lax import add_p, dot_general_p
from jitney.primitives.call.remat import name_p
from jitney.primitives.call.remat_policies import Offloadable, Recompute, Saveable

PLAIN = {"dimension_numbers": (((1,), (0,)), ((), ()))}
BATCHED = {"dimension_numbers": (((2,), (1,)), ((0,), (0,)))}


def saves(policy, name):
    return policy(name_p, name=name)


@pytest.mark.parametrize(
    "policy, expected",
    [
        (policies.everything_saveable, (True, True, True)),
        (policies.nothing_saveable, (False, False, False)),
        (policies.dots_saveable, (False, True, True)),
        (policies.dots_with_no_batch_dims_saveable, (False, True, False)),
    ],
)
def test_contractions(policy, expected):
    operations = ((add_p, {}), (dot_general_p, PLAIN), (dot_general_p, BATCHED))
    assert tuple([policy(prim, None, **params) for prim, params in operations]) == expected


def test_names_and_values_without_a_name():
    only = policies.save_only_these_names("a", "b")
    but = policies.save_any_names_but_these("a", "b")
    anything_but = policies.save_anything_except_these_names("a", "b")
    assert [saves(only, name) for name in "abc"] == [True, True, False]
    assert [saves(but, name) for name in "abc"] == [False, False, True]
    assert [saves(anything_but, name) for name in "abc"] == [False, False, True]
    assert [policy(add_p, name="a") for policy in (only, but, anything_but)] == [False, False, True]


def test_either_of_two_policies():
    both = policies.save_from_both_policies(
        policies.save_only_these_names("a"), policies.dots_saveable
    )
    assert saves(both, "a") and both(dot_general_p, **BATCHED)
    assert not saves(both, "b") and not both(add_p)


def test_offloading():
    policy = policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["a"], names_which_can_be_offloaded=["b"],
        offload_src="device", offload_dst="pinned_host",
    )  # fmt: skip
    moved = Offloadable("device", "pinned_host")
    assert [saves(policy, name) for name in "abc"] == [Saveable, moved, Recompute]
    dots = policies.offload_dot_with_no_batch_dims("device", "pinned_host")
    assert dots(dot_general_p, **PLAIN) == moved and dots(dot_general_p, **BATCHED) == Recompute
    with pytest.raises(ValueError, match=r"\['b'\] are in both"):
        policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["a", "b"], names_which_can_be_offloaded=["b"],
            offload_src="device", offload_dst="pinned_host",
        )  # fmt: skip


def test_offloaded_values_move_to_the_host_and_back():
    policy = policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["a"], names_which_can_be_offloaded=["b"],
        offload_src="device", offload_dst="pinned_host",
    )  # fmt: skip

    def f(x):
        x = checkpoint_name(jnp.sin(x), "a")
        return jnp.sum(jnp.sin(checkpoint_name(jnp.sin(x), "b")))

    def looped(x):
        return jitney.lax.scan(lambda x, _: (jnp.sin(x), f(x)), x, length=3)[1].sum()

    x = jnp.arange(4.0)
    for g in (f, looped):
        gradient = jitney.grad(jitney.checkpoint(g, policy=policy))
        program = str(jitney.make_jaxpr(gradient)(x))
        assert program.count("MemorySpace.Host") == program.count("MemorySpace.Device") == 1
        assert ("f32<host>[4]" if g is f else "f32<host>[3,4]") in program
        np.testing.assert_array_equal(jitney.jit(gradient)(x), jitney.jit(jitney.grad(g))(x))
        np.testing.assert_array_equal(gradient(x), jitney.grad(g)(x))
