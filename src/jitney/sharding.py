"""`jax.sharding`: where arrays lie. There is one device; these are the words for saying so."""

from jitney.api.placement import auto_axes as auto_axes
from jitney.api.placement import explicit_axes as explicit_axes
from jitney.api.placement import make_single_device_sharding as make_single_device_sharding
from jitney.api.placement import reshard as reshard
from jitney.runtime.mesh import AbstractMesh as AbstractMesh
from jitney.runtime.mesh import AxisType as AxisType
from jitney.runtime.mesh import Mesh as Mesh
from jitney.runtime.mesh import NamedSharding as NamedSharding
from jitney.runtime.mesh import PartitionSpec as PartitionSpec
from jitney.runtime.mesh import get_abstract_mesh as get_abstract_mesh
from jitney.runtime.mesh import get_mesh as get_mesh
from jitney.runtime.mesh import set_mesh as set_mesh
from jitney.runtime.mesh import use_abstract_mesh as use_abstract_mesh
from jitney.runtime.sharding import Sharding as Sharding
from jitney.runtime.sharding import SingleDeviceSharding as SingleDeviceSharding
