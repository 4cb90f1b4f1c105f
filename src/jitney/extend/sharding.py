"""`jax.extend.sharding`: shardings by name; there is one device."""

from jitney.core.sharding.sharding import Sharding as Sharding
from jitney.runtime.sharding import SingleDeviceSharding as SingleDeviceSharding
