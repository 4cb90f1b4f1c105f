"""`jax.extend.sharding`: shardings given by name or by tile assignment."""

from jitney.core.lazy import listing
from jitney.core.sharding.gspmd import GSPMDSharding as GSPMDSharding
from jitney.core.sharding.sharding import Sharding as Sharding
from jitney.runtime.sharding import SingleDeviceSharding as SingleDeviceSharding

__dir__ = listing(__name__)
