"""What all sparse formats have in common, and what a format has to define."""

import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.sparse.base import JAXSparse
from jitney.experimental.sparse.bcoo.matrix import BCOO


class Format(JAXSparse):
    """A format that defines nothing."""


def test_shapes_give_sizes_and_lengths():
    x = Format((), shape=[jnp.int32(2), 3])
    assert x.shape == (2, 3) and x.size == 6 and x.ndim == 2 and len(x) == 2
    scalar = Format((), shape=())
    assert scalar.size == 1
    with pytest.raises(TypeError, match="unsized"):
        len(scalar)


@pytest.mark.parametrize(
    ("use", "name"),
    [
        (lambda x: x.nse, "nse"),
        (lambda x: x.todense(), "todense"),
        (lambda x: x.T, "transpose"),
        (lambda x: x.tree_flatten(), "tree_flatten"),
        (lambda x: x.tree_unflatten({}, ()), "tree_unflatten"),
    ],
)
def test_what_a_format_lacks_is_named(use, name):
    with pytest.raises(NotImplementedError, match=f"^Format.{name}$"):
        use(Format((), shape=(2,)))


def test_sparse_arrays_are_not_hashable():
    with pytest.raises(TypeError, match="unhashable type: 'Format'"):
        hash(Format((), shape=(2,)))


def test_representations_show_dtype_shape_and_layout():
    mat = BCOO.fromdense(jnp.ones((2, 3, 4), jnp.float32), n_batch=1, n_dense=1)
    assert repr(mat) == "BCOO(float32[2, 3, 4], nse=3, n_batch=1, n_dense=1)"
    assert repr(BCOO.fromdense(jnp.ones(3, int))) == "BCOO(int32[3], nse=3)"
    assert repr(Format((), shape=(2,))) == "Format(<invalid>)"
    texts = []
    jax.make_jaxpr(lambda m: texts.append(repr(m)))(mat)
    assert texts[0].endswith("Tracer[BCOO(float32[2, 3, 4], nse=3, n_batch=1, n_dense=1)]")


def test_arrays_of_a_pytree_are_waited_for():
    mat = BCOO.fromdense(jnp.ones(2))
    assert mat.block_until_ready() is mat
