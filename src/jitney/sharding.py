"""`jax.sharding`: shardings, meshes and partition specs."""

from typing import TYPE_CHECKING

from jitney.api.parallel.placement import (
    auto_axes as auto_axes,
    explicit_axes as explicit_axes,
    make_single_device_sharding as make_single_device_sharding,
    reshard as reshard,
)
from jitney.api.parallel.shard_map_specs import Infer as Infer
from jitney.core.sharding.manual_axes import ManualAxisType as ManualAxisType
from jitney.core.sharding.mesh import (
    AbstractDevice as AbstractDevice,
    AbstractMesh as AbstractMesh,
    AxisType as AxisType,
    Mesh as Mesh,
    get_abstract_mesh as get_abstract_mesh,
    get_mesh as get_mesh,
    set_mesh as set_mesh,
    use_abstract_mesh as use_abstract_mesh,
)
from jitney.core.sharding.named import NamedSharding as NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as PartitionSpec
from jitney.core.sharding.sharding import Sharding as Sharding
from jitney.core.sharding.unreduced_kind import UnreducedKind as UnreducedKind
from jitney.core.util.lazy import listing, refusing
from jitney.runtime.devices.sharding import SingleDeviceSharding as SingleDeviceSharding
from jitney.runtime.features.no_collectives import no_collectives as no_collectives

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
