"""Options that say where new arrays are, on the axes of a mesh without devices, against real jax."""

from __future__ import annotations

from typing import Any

import pytest
from tests.helpers.both import check, outcome, outcome_of_jax

import jitney
from jitney.core.sharding.mesh import last_created

# A new array along a sharding on an AbstractMesh.
MADE: dict[str, Any] = {
    "zeros": lambda jax, jnp, s: jnp.zeros(4, device=s),
    "ones": lambda jax, jnp, s: jnp.ones(4, device=s),
    "empty": lambda jax, jnp, s: jnp.empty(4, device=s),
    "full": lambda jax, jnp, s: jnp.full(4, 2.0, device=s),
    "arange": lambda jax, jnp, s: jnp.arange(4, device=s),
    "zeros_like": lambda jax, jnp, s: jnp.zeros_like(jnp.ones(4), device=s),
    "full_like": lambda jax, jnp, s: jnp.full_like(jnp.ones(4), 2.0, device=s),
    "lax.full": lambda jax, jnp, s: jax.lax.full((4,), 2.0, sharding=s),
    "zeros, out_sharding": lambda jax, jnp, s: jnp.zeros(4, out_sharding=s),
    "arange, out_sharding": lambda jax, jnp, s: jnp.arange(4, out_sharding=s),
    "normal": lambda jax, jnp, s: jax.random.normal(jax.random.key(0), (4,), out_sharding=s),
    "reshard": lambda jax, jnp, s: jax.sharding.reshard(jnp.ones(4), s),
}
# These say nothing of a place if no axis is Explicit.
CONVERTED: dict[str, Any] = {
    "array": lambda jax, jnp, s: jnp.array([1.0, 2.0], device=s),
    "asarray": lambda jax, jnp, s: jnp.asarray([1.0, 2.0], device=s),
    "linspace": lambda jax, jnp, s: jnp.linspace(0, 1, 4, device=s),
    "astype": lambda jax, jnp, s: jnp.ones(4).astype("float16", device=s),
}


def place(jax: Any, kind: str) -> Any:
    sharding = jax.sharding
    mesh = sharding.AbstractMesh((2,), ("x",), axis_types=(getattr(sharding.AxisType, kind),))
    return sharding.NamedSharding(mesh, sharding.PartitionSpec("x"))


@pytest.fixture(autouse=True)
def no_known_meshes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides meshes that tests before made, on whose devices the arrays could be."""
    for axes in list(last_created):
        monkeypatch.delitem(last_created, axes)


# Without a context mesh JAX 0.12 ignores Explicit axes here, though not in the others, and an Auto axis
# in one that is compiled.
IGNORED = {
    *[(n, "Explicit") for n in ("zeros", "ones", "full", "zeros_like", "full_like", "lax.full")],
    ("zeros, out_sharding", "Explicit"),
}


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
@pytest.mark.parametrize("name", MADE)
def test_axes_of_an_abstract_mesh_are_refused(name: str, kind: str, compiled: bool) -> None:
    def case(jax: Any, jnp: Any) -> Any:
        def make() -> Any:
            return MADE[name](jax, jnp, place(jax, kind))

        return (jax.jit(make) if compiled else make)()

    is_ignored = (name, kind) in IGNORED or (name, kind, compiled) == ("empty", "Auto", True)
    assert outcome(case, jitney, jitney.numpy) == ("raises", "ValueError")
    assert (outcome_of_jax(case)[0] != "raises") is is_ignored


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("name", CONVERTED)
def test_auto_axes_say_nothing_of_converted_arrays(name: str, compiled: bool) -> None:
    def case(jax: Any, jnp: Any) -> Any:
        def make() -> Any:
            return CONVERTED[name](jax, jnp, place(jax, "Auto"))

        return (jax.jit(make) if compiled else make)()

    check(case)


@pytest.mark.parametrize("name", MADE)
def test_types_along_explicit_axes_need_no_devices(name: str) -> None:
    def case(jax: Any, jnp: Any) -> Any:
        found = jax.eval_shape(lambda: MADE[name](jax, jnp, place(jax, "Explicit")))
        return found.shape == (4,), str(found.sharding and found.sharding.spec) == "P('x',)"

    is_ignored = (name, "Explicit") in IGNORED
    assert outcome(case, jitney, jitney.numpy) == outcome(lambda *_: (True, True), None, None)
    assert outcome_of_jax(case) == outcome(lambda *_: (True, not is_ignored), None, None)
