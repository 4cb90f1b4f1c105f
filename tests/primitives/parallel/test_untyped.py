"""Programs lose the shardings in their types, and keep their results."""

import numpy as np

import jitney
from jitney.core.program.evaluate import jaxpr_as_fun
from jitney.primitives.parallel.untyped import evaluate, has_types, without_types
from jitney.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

X = np.arange(4, dtype=np.float32)
MESH = AbstractMesh((1, 1), ("i", "j"), axis_types=(AxisType.Explicit,) * 2)


def typed_program():
    mesh = jitney.make_mesh((1,), ("i",), axis_types=(AxisType.Explicit,))
    with jitney.set_mesh(mesh):
        x = jitney.device_put(X, NamedSharding(mesh, P("i")))
        return jitney.make_jaxpr(jitney.jit(lambda x: jitney.numpy.sin(x) * 2))(x)


def test_types_with_shardings_are_found_in_inner_programs():
    typed, plain = typed_program(), jitney.make_jaxpr(jitney.jit(lambda x: x * 2))(X)
    assert has_types(typed.jaxpr)
    assert not has_types(plain.jaxpr)
    inner = typed.eqns[-1].params["jaxpr"]
    stripped = without_types(inner)
    assert not has_types(stripped.jaxpr)
    np.testing.assert_allclose(jaxpr_as_fun(stripped)(X)[0], 2 * np.sin(X), rtol=1e-6)
    same = plain.eqns[0].params["jaxpr"]
    assert without_types(same) is same


def test_typed_programs_run_on_untyped_values():
    typed = typed_program()
    (got,) = evaluate(typed.jaxpr, typed.consts, X)
    np.testing.assert_allclose(got, 2 * np.sin(X), rtol=1e-6)


def test_parameters():
    mesh = without_types(MESH)
    assert set(mesh.axis_types) == {AxisType.Auto}
    place = without_types(NamedSharding(MESH, P("i", unreduced={"j"})))
    assert place.spec == P("i")
    assert place.mesh == mesh
    assert without_types(P("i")) is None
    assert without_types((3, P("i"), MESH)) == (3, P("i"), mesh)
    assert without_types("text") == "text"
