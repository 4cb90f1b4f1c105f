"""Sharding options of `jit` are spread over pytrees, and checked against what they apply to."""

import numpy as np
import pytest

import jitney as jax
from jitney.api.jit import jit_placement
from jitney.api.jit.jit_placement import WHOLE_ON_MESH, GivenPlaces, given_places
from jitney.core.sharding.mesh import Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.core.types.avals import ShapedArray
from jitney.runtime.devices.client import Client
from jitney.runtime.devices.sharding import UNSPECIFIED, DeviceOfJit
from jitney.runtime.execution.assignment import NO_REQUESTS

DEVICES = Client("cpu", 0, (2,), 1).devices()
MESH = Mesh(np.array(DEVICES), ("i",))
ROWS, WHOLE = NamedSharding(MESH, P("i")), NamedSharding(MESH, P())
F32 = np.dtype(np.float32)


def spread(prefix, full, shapes, option="in_shardings", api_name="jit"):
    avals = [ShapedArray(shape, F32) for shape in shapes]
    return given_places(option, prefix, api_name).spread(full, avals, "leaf {}".format)


def test_options_that_specify_nothing():
    assert given_places("in_shardings", None) is None
    assert given_places("in_shardings", UNSPECIFIED) is None
    assert given_places("in_shardings", None, "pjit").leaves == (WHOLE_ON_MESH,)
    assert isinstance(given_places("in_shardings", (None, ROWS)), GivenPlaces)


def test_prefixes_are_spread_over_trees():
    full = (1, {"a": 2, "b": 3})
    assert spread([ROWS, None], full, [(4,)] * 3) == (ROWS, UNSPECIFIED, UNSPECIFIED)
    assert spread(WHOLE, full, [(), (3,), (4,)]) == (WHOLE,) * 3
    assert spread((None, {"a": ROWS, "b": WHOLE}), full, [(3,), (2,), (3,)])[1:] == (ROWS, WHOLE)


def test_specs_are_on_the_context_mesh():
    with pytest.raises(RuntimeError, match="PartitionSpec in out_shardings refers to the context"):
        spread(P("i"), 1, [(4,)], "out_shardings")
    with MESH:
        assert spread(P("i"), 1, [(4,)], "out_shardings", "pjit") == (ROWS,)
        assert spread(None, 1, [(4,)], "out_shardings", "pjit") == (WHOLE,)
    assert spread(None, 1, [(4,)], "out_shardings", "pjit") == (UNSPECIFIED,)


@pytest.mark.parametrize(
    "prefix, message",
    [
        ((ROWS,), "one entry for each positional argument, .* length 1 for 2 arguments"),
        ({"a": ROWS}, "must be a tuple with one entry for each"),
        ((ROWS, (ROWS, ROWS)), "has to be a tree prefix"),
        ((ROWS, None), "leaf 0, one of its arguments"),
    ],
)
def test_prefixes_and_shardings_that_do_not_fit(prefix, message):
    with pytest.raises(ValueError, match=message):
        spread(prefix, (1, {"a": 2}), [(3,), (3,)])


def test_what_is_no_sharding_is_refused():
    with pytest.raises(TypeError, match=r"must be a pytree of Sharding, .* leaf i of type str"):
        given_places("in_shardings", ("i",))
    with pytest.raises(ValueError, match="Unconstrained dims are not allowed in in_shardings"):
        given_places("in_shardings", P(P.UNCONSTRAINED))


def test_the_deprecated_options_stand_for_shardings():
    device = jax.devices()[0]
    with pytest.warns(DeprecationWarning, match="`device` and `backend` are deprecated"):
        operands, results = jit_placement.places_on(None, "cpu", None, UNSPECIFIED)
    assert isinstance(operands, DeviceOfJit) and results.device_order == (device,)
    for options, error, message in (
        ((device, "cpu", None, None), ValueError, "at most one of"),
        ((device, None, ROWS, None), ValueError, "in_shardings cannot be combined"),
        (("cpu", None, None, None), TypeError, r"must be one of jax\.devices\(\)"),
    ):
        with pytest.warns(DeprecationWarning), pytest.raises(error, match=message):
            jit_placement.places_on(*options)


def test_wishes_of_an_equation():
    closed = jax.make_jaxpr(lambda x, y: x)(1.0, 2.0)
    nothing = {"in_shardings": (UNSPECIFIED,) * 2, "out_shardings": (UNSPECIFIED,)}
    assert jit_placement.requests_of(closed, nothing) is NO_REQUESTS
    requests = jit_placement.requests_of(closed, {**nothing, "in_shardings": (UNSPECIFIED, ROWS)})
    assert (requests.operands, requests.results, requests.within) == ((None, ROWS), (), None)
