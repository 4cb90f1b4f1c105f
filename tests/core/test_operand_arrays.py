"""NumPy arrays that are no operands: of foreign byte order, and masked ones."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax

SWAPPED = np.arange(4, dtype=np.dtype(np.float32).newbyteorder())
MASKED = np.ma.array([1.0, 2.0], mask=[False, True])
USES = {
    "jit": lambda x: jitney.jit(lambda y: y * y)(x),
    "jit_again": lambda x: [jitney.jit(lambda y: y * y)(y) for y in (np.asarray(x, np.float32), x)],
    "lax": lax.sin,
    "numpy": jnp.sin,
    "asarray": jnp.asarray,
    "list": lambda x: jnp.array([x, x]),
    "device_put": jitney.device_put,
    "operator": lambda x: jnp.ones(x.shape) + x,
}


@pytest.mark.parametrize("use", USES)
def test_byte_order(use):
    """Data of the other byte order would be read wrongly; converting them is left to the caller."""
    with pytest.raises(TypeError, match="byte order"):
        USES[use](SWAPPED)


@pytest.mark.parametrize("use", [u for u in USES if u != "list"])
def test_masked(use):
    with pytest.raises(ValueError, match="MaskedArray"):
        USES[use](MASKED)
