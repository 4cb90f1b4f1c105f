"""Nodes that move elements along a sharded axis exchange the edges of shards alone."""

import numpy as np
import pytest
from tests.compiler.hlo.partition.divided import WHOLE, X, divided, sends

RNG = np.random.default_rng(0)
V = RNG.normal(size=16).astype(np.float32)
M = RNG.normal(size=(16, 3)).astype(np.float32)
MESH = {"x": 4}


@pytest.mark.parametrize(
    ("start", "stop", "stride", "size"),
    [(4, 12, 1, 8), (1, 13, 1, 12), (0, 16, 2, 8), (3, 15, 3, 4), (8, 16, 1, 8)],
)
def test_slices(start, stop, stride, size):
    line = f"%1 = slice p0 starts=({start},) limits=({stop},) strides=({stride},) : float32[{size}]"
    program = divided(line, [(X,)], MESH, [V])
    assert "all_gather" not in sends(program)
    divided(line, [(X,)], MESH, [V], outs=[(X,)])


def test_few_elements_are_broadcast_by_their_owners():
    line = "%1 = slice p0 starts=(39,0) limits=(42,3) strides=(1,1) : float32[3,3]"
    program = divided(line, [(X, WHOLE)], MESH, [np.tile(M, (10, 1))])
    assert sends(program) == ["broadcast"] * 2


@pytest.mark.parametrize("dims", ["(0,)", "(1,)", "(0,1)"])
def test_reversal_mirrors_the_devices(dims):
    program = divided(f"%1 = reverse p0 dims={dims} : float32[16,3]", [(X, WHOLE)], MESH, [M])
    assert sends(program) == (["permute"] if "0" in dims else [])


@pytest.mark.parametrize("fill", ["0.0", "7.0", "-0.0"])
@pytest.mark.parametrize(("low", "high"), [(4, 4), (-1, 1), (3, -3), (2, 2)])
def test_padding(low, high, fill):
    n = 16 + low + high
    body = (
        f"%2 = constant {fill} : float32[]\n"
        f"%3 = pad p0, %2 low=({low},) high=({high},) interior=(0,) : float32[{n}]"
    )
    divided(body, [(X,)], MESH, [V], outs=[(X,)])


def test_rolls_send_only_what_crosses():
    body = (
        "%1 = slice p0 starts=(13,) limits=(16,) strides=(1,) : float32[3]\n"
        "%2 = slice p0 starts=(0,) limits=(13,) strides=(1,) : float32[13]\n"
        "%3 = concatenate %1, %2 dim=0 : float32[16]"
    )
    program = divided(body, [(X,)], MESH, [V], outs=[(X,)])
    assert sends(program) == ["permute"]


def test_joined_parts():
    body = "%2 = concatenate p0, p1, p0 dim=0 : float32[40]"
    divided(body, [(X,), (X,)], MESH, [V, V[:8]], outs=[(X,)])


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_windows_of_convolutions(stride, dilation):
    image = RNG.integers(-3, 4, (1, 2, 16)).astype(np.float32)
    window = RNG.integers(-3, 4, (2, 2, 3)).astype(np.float32)
    n = (16 + 2 * dilation - 2 * dilation - 1) // stride + 1
    line = (
        "%2 = convolution p0, p1 x_axes=(0,1,2) w_axes=(0,1,2) out_axes=(0,1,2) "
        f"strides=({stride},) low=({dilation},) high=({dilation},) x_dilation=(1,) "
        f"w_dilation=({dilation},) groups=1 batch_groups=1 : float32[1,2,{n}]"
    )
    specs = [(WHOLE, WHOLE, X), (WHOLE,) * 3]
    program = divided(line, specs, MESH, [image, window])
    assert set(sends(program)) == {"permute"}
