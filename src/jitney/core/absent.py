"""What JAX has and this package has not, and what does its work here."""

from __future__ import annotations

_KEPT = "jax.experimental.serialize_executable keeps compiled programs"
_CALLBACK = "jax.pure_callback calls functions of the host"
_KERNELS = "jax.jit fuses loops over arrays into kernels"
_TEXT = "jax.jit(f).lower(...).as_text() shows a program"
_TRACE = "jax.profiler.trace writes a file for trace viewers"
_MEMORY = "jax.jit(f).lower(...).compile().memory_analysis() tells what a program needs"
_COSTS = "jax.jit(f).lower(...).compile().cost_analysis() counts operations and bytes"

# Name -> the nearest thing. That of a module stands for all in it.
_NEAREST = {
    "jax.cloud_tpu_init": "",
    "jax.experimental.EArray": "",
    "jax.experimental.buffer_callback": _CALLBACK,
    "jax.experimental.fused": _KERNELS,
    "jax.experimental.mosaic": _KERNELS,
    "jax.experimental.pallas": _KERNELS,
    "jax.experimental.profiler": _TRACE,
    "jax.experimental.roofline": _COSTS,
    "jax.experimental.source_mapper": _TEXT,
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
    "jax.extend.lowering": _TEXT,
    "jax.extend.mlir": _TEXT,
    "jax.extend.pallas": _KERNELS,
    "jax.extend.xla": _TEXT,
    "jax.ffi": _CALLBACK,
    "jax.interpreters.ad.linearize": "jax.linearize",
    "jax.interpreters.mlir": "jax.interpreters.mlir.lower_fun gives a primitive its program",
    "jax.profiler.ProfileData": _TRACE,
    "jax.profiler.ProfileEvent": _TRACE,
    "jax.profiler.ProfileOptions": _TRACE,
    "jax.profiler.ProfilePlane": _TRACE,
    "jax.profiler.device_memory_profile": _MEMORY,
    "jax.profiler.register_subprocess": _TRACE,
    "jax.profiler.save_device_memory_profile": _MEMORY,
    "jax.profiler.start_server": _TRACE,
    "jax.profiler.stop_server": _TRACE,
    "jax.sharding.AbstractDevice": "jax.sharding.AbstractMesh",
    "jax.tools": _TEXT,
}


def why_absent(name: str) -> str | None:
    """What to say of a name that is missing here and that JAX has; None of other names.

    Args:
      name: as users write it: `jax.export.export`.
    """
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
    """The message of an AttributeError for `name` of the module that users call `module`."""
    return why_absent(f"{module}.{name}") or f"module {module!r} has no attribute {name!r}"
