"""What libraries ask of values and traces."""

import numpy as np
import pytest

import jitney.core
import jitney.extend.core
from jitney.core.recording import compat
from jitney.core.symbolic.shapes import symbolic_shape


@pytest.mark.parametrize(
    "x, valid",
    [
        (1, True),
        (2**80, True),
        (1j, True),
        (np.zeros(2, np.int8), True),
        (np.array(["a"]), False),
        ("a", False),
        ([1], False),
        (None, False),
    ],
)
def test_valid_operands(x, valid):
    assert compat.valid_jaxtype(x) is valid


def test_constant_sizes():
    (n,) = symbolic_shape("n")
    assert compat.is_constant_shape((3, np.int64(4)))
    assert compat.is_constant_shape(())
    assert not compat.is_constant_shape((3, n))


def test_traces_around_are_told_apart():
    seen = {}

    def look(name):
        def looked(x):
            seen[name] = (
                compat.unsafe_am_i_under_a_jit_DO_NOT_USE(),
                compat.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
                compat.unsafe_get_axis_names_DO_NOT_USE(),
            )
            return x

        return looked

    look("eager")(1)
    x = np.zeros(2, np.float32)
    jitney.make_jaxpr(look("jit"))(x)
    jitney.vmap(look("vmap"), axis_name="i")(x)
    jitney.make_jaxpr(jitney.vmap(jitney.vmap(look("both"), axis_name="j"), axis_name="i"))(x[None])
    jitney.jvp(look("jvp"), (1.0,), (1.0,))
    assert seen == {
        "eager": (False, False, []),
        "jit": (True, False, []),
        "vmap": (False, True, ["i"]),
        "both": (True, True, ["i", "j"]),
        "jvp": (False, False, []),
    }
    assert not compat.nonempty_axis_env_DO_NOT_USE()


def test_tokens_hold_no_data():
    token = compat.Token()
    token.block_until_ready()
    assert np.asarray(token).shape == (0,)
    assert compat.valid_jaxtype(token)


@pytest.mark.parametrize("name", jitney.core._DEPRECATED)
def test_warnings_name_the_successor_if_there_is_one(name):
    has_successor = hasattr(jitney.extend.core, name)
    text = rf"jax\.core\.{name} is deprecated" + f"; use jax.extend.core.{name}" * has_successor
    with pytest.warns(DeprecationWarning, match=text + "$"):
        getattr(jitney.core, name)
