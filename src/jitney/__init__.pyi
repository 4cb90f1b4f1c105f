"""jitney: JAX's programming model for CPUs, on a compiler of its own."""

from jitney.core.array import Array as Array
from jitney.core.config import config as config
from jitney.core.config import allow_f16_reductions as allow_f16_reductions
from jitney.core.config import array_garbage_collection_guard as array_garbage_collection_guard
from jitney.core.config import auto_pcast as auto_pcast
from jitney.core.config import check_tracer_leaks as check_tracer_leaks
from jitney.core.config import checking_leaks as checking_leaks
from jitney.core.config import debug_infs as debug_infs
from jitney.core.config import debug_key_reuse as debug_key_reuse
from jitney.core.config import debug_nans as debug_nans
from jitney.core.config import default_device as default_device
from jitney.core.config import default_matmul_precision as default_matmul_precision
from jitney.core.config import default_prng_impl_state as _default_prng_impl
from jitney.core.config import disable_jit as disable_jit
from jitney.core.config import enable_checks as enable_checks
from jitney.core.config import enable_custom_prng as enable_custom_prng
from jitney.core.config import enable_x64 as enable_x64
from jitney.core.config import explain_cache_misses as explain_cache_misses
from jitney.core.config import (
    jax2tf_associative_scan_reductions as jax2tf_associative_scan_reductions,
)
from jitney.core.config import legacy_prng_key as legacy_prng_key
from jitney.core.config import log_compiles as log_compiles
from jitney.core.config import no_execution as no_execution
from jitney.core.config import no_tracing as no_tracing
from jitney.core.config import numpy_dtype_promotion as numpy_dtype_promotion
from jitney.core.config import numpy_rank_promotion as numpy_rank_promotion
from jitney.core.config import (
    remove_size_one_mesh_axis_from_type as remove_size_one_mesh_axis_from_type,
)
from jitney.core.config import softmax_custom_jvp as softmax_custom_jvp
from jitney.core.config import thread_guard as thread_guard
from jitney.core.config import threefry_partitionable as threefry_partitionable
from jitney.core.config import transfer_guard as transfer_guard
from jitney.core.config import transfer_guard_device_to_device as transfer_guard_device_to_device
from jitney.core.config import transfer_guard_device_to_host as transfer_guard_device_to_host
from jitney.core.config import transfer_guard_host_to_device as transfer_guard_host_to_device
from jitney.core.dtypes import float0 as float0
from jitney.core.shape_dtype import ShapeDtypeStruct as ShapeDtypeStruct
from jitney.core.slices import ds as ds
from jitney.core.source_info import named_call as named_call
from jitney.core.source_info import named_scope as named_scope
from jitney.core.user_context import make_user_context as make_user_context
from jitney.core.compile_time_eval import ensure_compile_time_eval as ensure_compile_time_eval
from jitney.runtime.array import Shard as Shard
from jitney.runtime.device import Device as Device
from jitney.core.sharding.named import NamedSharding as NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as _PartitionSpec
from jitney.core.sharding.mesh import set_mesh as set_mesh
from jitney.api.gradient import fwd_and_bwd as fwd_and_bwd
from jitney.api.gradient import grad as grad
from jitney.api.autodiff import jvp as jvp
from jitney.api.autodiff import linear_transpose as linear_transpose
from jitney.api.autodiff import linearize as linearize
from jitney.api.gradient import value_and_grad as value_and_grad
from jitney.api.autodiff import vjp as vjp
from jitney.api.callbacks import pure_callback as pure_callback
from jitney.api.caches import clear_caches as clear_caches
from jitney.api.checkpoint import checkpoint as checkpoint
from jitney.api.checkpoint_policies import checkpoint_policies as checkpoint_policies
from jitney.api.custom_gradient import closure_convert as closure_convert
from jitney.api.custom_gradient import custom_gradient as custom_gradient
from jitney.api.custom_jvp import custom_jvp as custom_jvp
from jitney.api.custom_vjp import custom_vjp as custom_vjp
from jitney.api.device_put import block_until_ready as block_until_ready
from jitney.api.device_put import copy_to_host_async as copy_to_host_async
from jitney.api.device_put import default_backend as default_backend
from jitney.api.device_put import device_count as device_count
from jitney.api.device_put import device_get as device_get
from jitney.api.device_put import device_put as device_put
from jitney.api.device_put import devices as devices
from jitney.api.device_put import local_device_count as local_device_count
from jitney.api.device_put import local_devices as local_devices
from jitney.api.device_put import host_count as host_count
from jitney.api.device_put import host_id as host_id
from jitney.api.device_put import host_ids as host_ids
from jitney.api.device_put import process_count as process_count
from jitney.api.device_put import process_index as process_index
from jitney.api.device_put import process_indices as process_indices
from jitney.api.environment import effects_barrier as effects_barrier
from jitney.api.environment import live_arrays as live_arrays
from jitney.api.environment import print_environment_info as print_environment_info
from jitney.api.jacobian import hessian as hessian
from jitney.api.jacobian import jacfwd as jacfwd
from jitney.api.jacobian import jacobian as jacobian
from jitney.api.jacobian import jacrev as jacrev
from jitney.api.jit import jit as jit
from jitney.api.make_jaxpr import eval_shape as eval_shape
from jitney.api.make_jaxpr import make_jaxpr as make_jaxpr
from jitney.api.make_jaxpr import typeof as typeof
from jitney.api.placement import make_array_from_callback as make_array_from_callback
from jitney.api.placement import (
    make_array_from_process_local_data as make_array_from_process_local_data,
)
from jitney.api.placement import (
    make_array_from_single_device_arrays as make_array_from_single_device_arrays,
)
from jitney.api.placement import make_mesh as make_mesh
from jitney.api.placement import reshard as reshard
from jitney.api.pmap import pmap as pmap
from jitney.api.shard_map import shard_map as shard_map
from jitney.api.shard_map import smap as smap
from jitney.api.vmap import vmap as vmap
from jitney.install import install_as_jax as install_as_jax
from jitney import dlpack as dlpack
from jitney import ad as ad
from jitney import ad_checkpoint as ad_checkpoint
from jitney import api_util as api_util
from jitney import custom_batching as custom_batching
from jitney import custom_derivatives as custom_derivatives
from jitney import debug as debug
from jitney import distributed as distributed
from jitney import dtypes as dtypes
from jitney import errors as errors
from jitney import experimental as experimental
from jitney import image as image
from jitney import interpreters as interpreters
from jitney import lax as lax
from jitney import lib as lib
from jitney import memory as memory
from jitney import monitoring as monitoring
from jitney import nn as nn
from jitney import numpy as numpy
from jitney import ops as ops
from jitney import profiler as profiler
from jitney import random as random
from jitney import scipy as scipy
from jitney import sharding as sharding
from jitney import stages as stages
from jitney import export as export
from jitney import ref as ref
from jitney.ref import Ref as Ref
from jitney.ref import free_ref as free_ref
from jitney.ref import freeze as freeze
from jitney.ref import empty_ref as empty_ref
from jitney.ref import new_ref as new_ref
from jitney import tree as tree
from jitney import tree_util as tree_util
from jitney import typing as typing
from jitney import version as version

__version__: str

default_prng_impl = _default_prng_impl
P = _PartitionSpec
remat = checkpoint
