"""The primitive `cond`: residuals share places, batched predicates select, dead results go."""

import numpy as np
import pytest

import jitney
from jitney import lax
from jitney.core.types.avals import shaped_array
from jitney.experimental import io_callback
from jitney.interpreters import partial_eval as pe
from jitney.primitives.control.cond_primitive import _shared_slots, branch_for_cpu

F, N = (shaped_array((), t) for t in (np.float32, np.int32))


def test_residuals_of_one_type_share_a_slot():
    slots, places = _shared_slots([[F, F], [N, F], [], [F, F, F]])
    assert slots == (F, F, N, F)
    assert places == [(0, 1), (2, 0), (), (0, 1, 3)]


def test_the_branch_of_the_platform():
    assert branch_for_cpu((("tpu", "cuda"), ("rocm", "cpu"), None)) == 1
    assert branch_for_cpu((("tpu",), None)) == 1
    with pytest.raises(NotImplementedError, match="nor a default; the branches are for cuda, tpu"):
        branch_for_cpu((("tpu",), ("cuda",)))


def choose(p, x):
    return lax.cond(p, lambda x: (x * x, x), lambda x: (lax.sin(x), 0 * x), x)


@pytest.mark.parametrize(("p", "want"), [(True, 6.0), (False, np.cos(3))])
def test_cotangents_of_the_chosen_branch(p, want):
    for of in (choose, jitney.jit(choose)):
        got = jitney.grad(lambda x, of=of: of(p, x)[0])(np.float32(3))
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_batched_predicates_select_elements():
    x = np.float32([2, 3])
    got = jitney.vmap(choose)(np.array([True, False]), x)
    np.testing.assert_allclose(got[0], [4, np.sin(3)], rtol=1e-6)
    np.testing.assert_array_equal(got[1], [2, 0])
    text = str(jitney.make_jaxpr(jitney.vmap(choose))(np.array([True, False]), x))
    assert "select_n" in text
    assert "cond[" not in text
    text = str(jitney.make_jaxpr(jitney.vmap(choose, in_axes=(None, 0)))(True, x))
    assert "cond[" in text


def test_results_that_are_not_used_are_pruned():
    closed = jitney.make_jaxpr(lambda p, x: choose(p, x)[1])(True, 1.0)
    pruned, _ = pe.dce_jaxpr(closed.jaxpr, [True])
    (eqn,) = [e for e in pruned.eqns if e.primitive.name == "cond"]
    assert len(eqn.outvars) == 1
    assert not any("sin" in str(b) for b in eqn.params["branches"])


def test_effects_of_branches_that_were_not_chosen_are_refused():
    def calling(p):
        return lax.cond(p, lambda: io_callback(print, None), lambda: None)

    with pytest.raises(NotImplementedError, match="a branch calls io_callback"):
        jitney.vmap(calling)(np.array([True, False]))
