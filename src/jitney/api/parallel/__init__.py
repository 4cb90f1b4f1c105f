"""Programs and arrays on several devices: `shard_map`, `pmap`, `device_put`."""
