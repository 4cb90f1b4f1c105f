"""Components of Jacobians: checks of dtypes, the standard basis, and division of axes."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.private.stand_ins.jacobians import (
    check_input_dtype_jacfwd,
    check_input_dtype_jacrev,
    check_output_dtype_jacfwd,
    check_output_dtype_jacrev,
    jacfwd_unravel,
    jacrev_unravel,
    jvp,
    std_basis,
    vjp,
)

TREE = {"a": jnp.zeros((2, 1)), "b": jnp.zeros(())}


def test_the_basis_has_a_one_at_each_position():
    basis = std_basis(TREE)
    flat = np.concatenate([np.reshape(basis["a"], (3, 2)), np.reshape(basis["b"], (3, 1))], 1)
    np.testing.assert_array_equal(flat, np.eye(3))


def test_axes_are_divided_into_the_leaves():
    x = jnp.arange(6.0)
    last = jacfwd_unravel(TREE, None, x.reshape(2, 3))
    assert last["a"].shape == (2, 2, 1) and last["a"][..., 0].tolist() == [[0, 1], [3, 4]]
    assert last["b"].tolist() == [2, 5]
    first = jacrev_unravel(TREE, None, x.reshape(3, 2))
    assert first["a"].shape == (2, 1, 2) and first["a"][:, 0].tolist() == [[0, 1], [2, 3]]
    assert first["b"].tolist() == [4, 5]


def test_functions_may_be_wrapped():
    class Wrapped:
        def call_wrapped(self, x):
            return x * x

    assert jvp(Wrapped(), (3.0,), (1.0,)) == (9, 6)
    out, pull, aux = vjp(lambda x: (x * x, "aux"), 3.0, has_aux=True)
    assert out == 9 and pull(1.0) == (6,) and aux == "aux"


def test_dtypes_have_to_allow_the_derivative():
    check_output_dtype_jacfwd(False, np.int32(1))
    check_output_dtype_jacfwd(True, np.complex64(1))
    with pytest.raises(TypeError, match="jacfwd"):
        check_output_dtype_jacfwd(True, np.float32(1))
    with pytest.raises(TypeError, match="jacfwd"):
        check_input_dtype_jacfwd(False, np.complex64(1))
    with pytest.raises(TypeError, match="jacrev"):
        check_input_dtype_jacrev(False, False, np.int32(1))
    with pytest.raises(TypeError, match="jacrev"):
        check_output_dtype_jacrev(False, np.complex64(1))
