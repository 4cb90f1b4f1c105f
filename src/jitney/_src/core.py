"""`jax._src.core`: flax asks for types of arrays, numpyro whether anything is being traced."""

from jitney.core.avals import ShapedArray as ShapedArray
from jitney.core.explicit import ShardingTypeError as ShardingTypeError
from jitney.core.trace import trace_state_clean as trace_state_clean
