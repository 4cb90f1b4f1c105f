"""`jax.extend.sharding`: shardings by name; there is one device."""

from jitney.runtime.sharding import (
    Sharding as Sharding,
    SingleDeviceSharding as SingleDeviceSharding,
)
