"""Values of registered types are mapped by their own rules, also where they are nested."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.api.batching import vmappables


class Pair:
    def __init__(self, row, common):
        self.row, self.common = row, common


@pytest.fixture
def pairs():
    vmappables.register_vmappable(
        Pair, int, int,
        lambda cont, index, x, axis: Pair(cont(x.row, axis), index()),
        lambda cont, size, x, axis: Pair(cont(size, x.row, axis), size), None,
    )  # fmt: skip
    yield
    vmappables.unregister_vmappable(Pair)


def test_types_are_registered_until_they_are_removed(pairs):
    assert vmappables.is_vmappable(Pair(1, 2)) and not vmappables.is_vmappable((1, 2))
    assert vmappables.is_spec(0) and not vmappables.is_spec("axis")
    vmappables.unregister_vmappable(Pair)
    assert not vmappables.is_vmappable(Pair(1, 2)) and not vmappables.is_spec(0)


def test_elements_know_their_index_and_results_the_size(pairs):
    rows = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    out = jax.vmap(lambda p: Pair(p.row * p.common, 0), in_axes=1, out_axes=1, axis_size=3)(
        Pair(rows, None)
    )
    np.testing.assert_array_equal(out.row, np.asarray(rows) * np.arange(3))
    assert out.common == 3


def test_components_may_be_of_registered_types(pairs):
    inner = Pair(Pair(jnp.arange(3), None), None)
    out = jax.vmap(lambda p: p.row.row + 1, axis_size=3)(inner)
    np.testing.assert_array_equal(out, [1, 2, 3])


def test_an_unmapped_axis_of_a_mapped_component_is_refused():
    vmappables.register_vmappable(
        Pair, int, int,
        lambda cont, index, x, axis: Pair(cont(x.row, axis), None),
        lambda cont, size, x, axis: Pair(cont(size, x.row, None), None), None,
    )  # fmt: skip
    try:
        with pytest.raises(ValueError, match="mapped output but out_axes is None"):
            jax.vmap(lambda p: p, axis_size=3)(Pair(jnp.arange(3), None))
    finally:
        vmappables.unregister_vmappable(Pair)


def test_indices():
    np.testing.assert_array_equal(vmappables.indices(np.int64(3)), [0, 1, 2])
    assert vmappables.indices(0).shape == (0,)
