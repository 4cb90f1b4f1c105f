"""Names that JAX has and this package lacks, with the nearest replacement for each."""

from __future__ import annotations

_KEPT = "jax.experimental.serialize_executable keeps compiled programs"
_CALLBACK = "jax.pure_callback calls Python functions"
_KERNELS = "jax.jit fuses loops over arrays into kernels"
_TEXT = "jax.jit(f).lower(...).as_text() shows a program"
_MAPS = "the passes hlo:original and hlo:optimized map lines of programs"

# Name -> the nearest replacement. The entry of a module covers all names in it.
_NEAREST = {
    "jax.cloud_tpu_init": "",
    "jax.experimental.buffer_callback": _CALLBACK,
    "jax.experimental.mosaic": _KERNELS,
    "jax.experimental.pallas": _KERNELS,
    "jax.experimental.source_mapper.create_mlir_sourcemap": _MAPS,
    "jax.experimental.source_mapper.mlir": _MAPS,
    "jax.experimental.transfer": "jax.device_put moves arrays",
    "jax.export.DisabledSafetyCheck": _KEPT,
    "jax.export.Exported": _KEPT,
    "jax.export.default_export_platform": _KEPT,
    "jax.export.deserialize": _KEPT,
    "jax.export.export": _KEPT,
    "jax.export.maximum_supported_calling_convention_version": _KEPT,
    "jax.export.minimum_supported_calling_convention_version": _KEPT,
    "jax.export.register_namedtuple_serialization": _KEPT,
    "jax.export.register_pytree_node_serialization": _KEPT,
    "jax.extend.backend.register_backend_factory": "",
    "jax.extend.lowering": "jax.extend.lowering.LoweringRuleContext is the context of a rule",
    "jax.extend.mlir": _TEXT,
    "jax.extend.pallas": _KERNELS,
    "jax.extend.xla": _TEXT,
    "jax.ffi": _CALLBACK,
    "jax.interpreters.mlir": "jax.interpreters.mlir.lower_fun defines the lowering of a primitive",
    "jax.sharding.AbstractDevice": "jax.sharding.AbstractMesh",
    "jax.tools": _TEXT,
}

# Formerly common names that JAX has removed -> (the version that removed them, the replacement).
# Those removed before 2024 have no version.
_REMOVED = {
    "jax.tree_all": ("", "jax.tree.all"),
    "jax.tree_flatten": ("", "jax.tree.flatten"),
    "jax.tree_leaves": ("", "jax.tree.leaves"),
    "jax.tree_map": ("", "jax.tree.map"),
    "jax.tree_multimap": ("", "jax.tree.map"),
    "jax.tree_reduce": ("", "jax.tree.reduce"),
    "jax.tree_structure": ("", "jax.tree.structure"),
    "jax.tree_transpose": ("", "jax.tree.transpose"),
    "jax.tree_unflatten": ("", "jax.tree.unflatten"),
    "jax.tree_util.tree_multimap": ("", "jax.tree.map"),
    "jax.experimental.host_callback": ("", "jax.pure_callback or jax.debug.callback"),
    "jax.experimental.optimizers": ("", "jax.example_libraries.optimizers"),
    "jax.experimental.stax": ("", "jax.example_libraries.stax"),
    "jax.numpy.DeviceArray": ("", "jax.Array"),
    "jax.numpy.alltrue": ("", "jax.numpy.all"),
    "jax.numpy.cumproduct": ("", "jax.numpy.cumprod"),
    "jax.numpy.in1d": ("", "jax.numpy.isin"),
    "jax.numpy.product": ("", "jax.numpy.prod"),
    "jax.numpy.row_stack": ("", "jax.numpy.vstack"),
    "jax.numpy.sometrue": ("", "jax.numpy.any"),
    "jax.numpy.trapz": ("", "jax.scipy.integrate.trapezoid"),
    "jax.ops.index_add": ("", "x.at[index].add(y)"),
    "jax.ops.index_update": ("", "x.at[index].set(y)"),
    "jax.partial": ("", "functools.partial"),
    "jax.random.KeyArray": ("", "jax.Array"),
    "jax.random.shuffle": ("", "jax.random.permutation"),
    "jax.xla_computation": ("", "jax.jit(f).lower(...)"),
    "jax.ad_checkpoint.checkpoint": ("0.10", "jax.checkpoint"),
    "jax.ad_checkpoint.remat": ("0.10", "jax.checkpoint"),
    "jax.experimental.compute_on.compute_on2": ("0.11", "compute_on, which has its arguments"),
}


def why_absent(name: str) -> str | None:
    """Returns an explanation for a name that JAX has and this package lacks; None for other names.

    Args:
      name: the name as users write it, such as `jax.export.export`.
    """
    if name in _REMOVED:
        version, instead = _REMOVED[name]
        return f"{f'JAX {version}' if version else 'JAX'} has removed {name}; use {instead}"
    parts = name.split(".")
    for count in range(len(parts), 1, -1):
        nearest = _NEAREST.get(".".join(parts[:count]))
        if nearest is not None:
            from jitney.version import PACKAGE_VERSION

            release = ".".join(PACKAGE_VERSION.split(".")[:2])
            near = f"; nearest: {nearest}" if nearest else ""
            return f"{name} is not in jitney {release}{near}"
    return None


def missing_attribute(module: str, name: str) -> str:
    """Returns the AttributeError message for a missing `name` in the public module `module`."""
    return why_absent(f"{module}.{name}") or f"module {module!r} has no attribute {name!r}"
