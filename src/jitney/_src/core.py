"""`jax._src.core`: flax asks for types of arrays, numpyro whether anything is being traced.

jax-md makes primitives of its own.
"""

from jitney.core.avals import ShapedArray as ShapedArray
from jitney.core.explicit import ShardingTypeError as ShardingTypeError
from jitney.core.primitive import Primitive as Primitive
from jitney.core.trace import trace_state_clean as trace_state_clean
