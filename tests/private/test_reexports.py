"""Names that public modules import are found where the table says, and no others."""

import pytest

import jitney
from jitney.private import reexports
from jitney.private.reexports import find


@pytest.mark.parametrize(
    ("module", "name", "wanted"),
    [
        ("jax.experimental.rnn", "Array", lambda: jitney.Array),
        ("jax.experimental.multihost_utils", "P", lambda: jitney.sharding.PartitionSpec),
        ("jax.experimental.ode", "tree_map", lambda: jitney.tree_util.tree_map),
        ("jax.interpreters.ad", "backward_pass", lambda: transpose().backward_pass),
    ],
)
def test_names_are_those_of_their_source(module, name, wanted):
    assert find(module, name) is wanted()


def transpose():
    from jitney.transforms import transpose

    return transpose


def test_names_may_differ_from_those_of_the_source():
    name = "jax.example_libraries.optimizers"
    assert find(name, "map") is find(name, "safe_map")
    assert find(name, "zip")([1, 2], [3, 4]) == [(1, 3), (2, 4)]


def test_other_names_and_modules_have_nothing():
    assert find("jax.experimental.ode", "odeint") is None
    assert find("jax.numpy", "tree_map") is None


@pytest.mark.parametrize("module", reexports.REEXPORTS)
def test_every_row_leads_to_an_object(module):
    names = reexports._places(module)
    assert names and all(find(module, name) is not None for name in names)
