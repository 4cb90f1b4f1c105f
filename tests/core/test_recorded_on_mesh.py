"""Under a context mesh, operands have to be on it, and equations keep it."""

import types

import numpy as np
import pytest

from jitney.core.program.jaxpr import JaxprEqnContext
from jitney.core.recording.recorded_on_mesh import MeshWhileRecording, intercept
from jitney.core.recording.recording_interceptors import features
from jitney.core.sharding.mesh import AbstractMesh, use_abstract_mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.core.sharding_in_types import explicit
from jitney.core.types.avals import shaped_array

MESH, OTHER = AbstractMesh((2,), ("x",)), AbstractMesh((3,), ("y",))
PLAIN = shaped_array((6,), np.dtype(np.float32))
FEATURE = MeshWhileRecording()


class Operation(types.SimpleNamespace):
    called = None
    declares_sharding = False

    def __str__(self):
        return "op"


def on(mesh):
    return explicit.typed(PLAIN, NamedSharding(mesh, P()))


def test_operands_are_on_the_context_mesh_or_on_none():
    FEATURE.check(Operation(), [on(OTHER)])
    with use_abstract_mesh(MESH):
        FEATURE.check(Operation(), [PLAIN, on(MESH)])
        with pytest.raises(ValueError, match="op: operands must be on the context mesh"):
            FEATURE.check(Operation(), [on(OTHER)])
        FEATURE.check(Operation(called="jaxpr"), [on(OTHER)])
        with explicit.as_written():
            FEATURE.check(Operation(), [on(OTHER)])


def test_results_are_on_the_context_mesh():
    assert FEATURE.result_types(Operation(), PLAIN) == PLAIN
    with use_abstract_mesh(MESH):
        assert FEATURE.result_types(Operation(), PLAIN) == on(MESH)
        assert FEATURE.result_types(Operation(), [PLAIN, on(OTHER)]) == [on(MESH), on(OTHER)]
        assert FEATURE.result_types(Operation(declares_sharding=True), PLAIN) == PLAIN


def test_contexts_of_equations_have_the_mesh():
    context = JaxprEqnContext()
    assert FEATURE.context(context) is context
    with use_abstract_mesh(MESH):
        assert FEATURE.context(context).cur_abstract_mesh == MESH
        assert FEATURE.context(context) is FEATURE.context(context)
        noted = FEATURE.context(context._replace(xla_metadata={"a": 1}))
        assert (noted.xla_metadata, noted.cur_abstract_mesh) == ({"a": 1}, MESH)


def test_the_feature_is_installed_while_a_mesh_is_in_force():
    before = features.installed
    counts = []
    for in_force in (1, 2, 0, 0):
        intercept(in_force)
        counts.append(sum(isinstance(each, MeshWhileRecording) for each in features.installed))
    features.installed = before
    assert counts == [1, 1, 0, 0]
