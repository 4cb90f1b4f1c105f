"""`jax.interpreters.pxla`: the context mesh, in the form that older libraries use.

New code should call `jax.sharding.get_mesh()`.
"""

from __future__ import annotations

from collections import OrderedDict
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from jitney.core.sharding.mesh import Mesh, entered_mesh, get_mesh
from jitney.core.util.lazy import listing
from jitney.runtime.devices.client import Client
from jitney.runtime.devices.compile_options import CompileOptions, compile_options

__all__ = ["ArrayMapping", "Index", "MeshAxisName", "create_compile_options", "thread_resources"]

__dir__ = listing(__name__)

MeshAxisName: TypeAlias = Any
Index: TypeAlias = int | slice | tuple[int | slice, ...]
ArrayMapping: TypeAlias = OrderedDict[MeshAxisName, int]


class _Environment:
    """The settings of the current thread."""

    @property
    def physical_mesh(self) -> Mesh:
        """The mesh that `with mesh:` has entered, or else the context mesh, or an empty mesh."""
        mesh = entered_mesh()
        return get_mesh() if mesh.empty else mesh


thread_resources = SimpleNamespace(env=_Environment())


def create_compile_options(
    computation: object,
    tuple_args: bool,
    allow_prop_to_inputs: object,
    allow_prop_to_outputs: object,
    backend: Client,
    np_dev: np.ndarray,
    compiler_options: dict[str, Any] | None,
) -> CompileOptions:
    """Returns options for compiling a program for the given devices.

    Args:
      computation: the program.
      tuple_args: accepted for compatibility.
      allow_prop_to_inputs, allow_prop_to_outputs: accepted for compatibility.
      backend: client of the devices.
      np_dev: array of devices.
      compiler_options: options of XLA by name, which have no effect.
    """
    devices = np.asarray(np_dev, object).ravel()
    options = compile_options(1, devices.size, devices[None, :], compiler_options)
    options.parameter_is_tupled_arguments = bool(tuple_args)
    return options
