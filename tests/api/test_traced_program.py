"""A traced program knows which shardings it requests, and which donated operands it uses up."""

import warnings

import numpy as np
import pytest

import jitney
from jitney.api.jit.jit_call import make_call
from jitney.runtime.devices.sharding import single_device
from jitney.runtime.execution.assignment import NO_REQUESTS


def program_of(fun, *args, **options):
    return make_call(fun, **options).trace(args, {})[0]


def test_donated_operands_are_used_up_if_a_result_has_their_size():
    x, y = np.ones(3, np.float32), np.ones(2, np.float32)
    program = program_of(lambda x, y: x + y[0], x, y, donate_argnums=0)
    assert program.consumed(on_mesh=False) == (True, False)
    assert program_of(lambda x, y: x, x, y).consumed(on_mesh=False) == (False, False)


def test_useless_donations_are_warned_of_once_but_not_on_meshes():
    x = np.ones(3, np.float32)
    program = program_of(lambda x: x.sum(), x, donate_argnums=0)
    with pytest.warns(UserWarning, match=r"no result can use the memory .*float32\[3\]"):
        first = program.consumed(on_mesh=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert program.consumed(on_mesh=False) == first
        program_of(lambda x: x.max(), x, donate_argnums=0).consumed(on_mesh=True)


def test_requested_shardings():

    place = single_device(jitney.devices()[0])
    assert program_of(lambda x: x, 1.0).requests() is NO_REQUESTS
    program = program_of(lambda x: x, 1.0, out_shardings=place)
    assert program.requests().results == (place,) and program.requests() is program.requests()
