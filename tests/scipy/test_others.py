"""`jax.scipy`: `optimize`, `sparse.linalg`, `ndimage`, `interpolate`, `spatial` and the small ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.interpolate
import scipy.ndimage
import scipy.optimize
import scipy.spatial.transform
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as jnp
import jitney.scipy as jsp


def rosenbrock(x: Any) -> Any:
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(x: Any) -> Any:
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


@pytest.mark.parametrize(
    "function", [rosenbrock, himmelblau, lambda x: jnp.sum((x - 1) ** 4 + x**2)]
)
def test_minimize(function: Any):
    with jitney.enable_x64(True):
        found = jsp.optimize.minimize(function, jnp.array([-1.2, 1.0]), method="BFGS")
        exact = scipy.optimize.minimize(
            lambda x: float(function(x)), found.x, method="BFGS", tol=1e-9
        )
        assert bool(found.success)
        assert int(found.status) == 0
        assert float(jnp.abs(found.jac).max()) < 1e-5
        np.testing.assert_allclose(found.fun, exact.fun, atol=1e-8)
        np.testing.assert_allclose(found.x, exact.x, atol=1e-4)
        assert int(found.nfev) < 200
        jitted = jitney.jit(lambda x: jsp.optimize.minimize(function, x, method="BFGS").x)
        starts = jnp.array([[-1.2, 1.0], [0.5, 0.5]])
        np.testing.assert_allclose(jitted(starts[0]), found.x, atol=1e-6)
        np.testing.assert_allclose(jitney.vmap(jitted)(starts)[0], found.x, atol=1e-6)


def test_minimize_with_arguments_and_options():
    found = jsp.optimize.minimize(
        lambda x, a: jnp.sum((x - a) ** 2),
        jnp.zeros(3),
        (jnp.arange(3.0),),
        method="bfgs",
        tol=1e-3,
    )
    np.testing.assert_allclose(found.x, np.arange(3), atol=1e-3)
    short = jsp.optimize.minimize(rosenbrock, jnp.zeros(4), method="BFGS", options={"maxiter": 2})
    assert (bool(short.success), int(short.status), int(short.nit)) == (False, 1, 2)
    with pytest.raises(TypeError, match="tuple"):
        jsp.optimize.minimize(rosenbrock, jnp.zeros(2), [1], method="BFGS")
    with pytest.raises(ValueError, match="method"):
        jsp.optimize.minimize(rosenbrock, jnp.zeros(2), method="other")
    with pytest.raises(ValueError, match="unknown options"):
        jsp.optimize.minimize(rosenbrock, jnp.zeros(2), method="BFGS", options={"other": 1})


SOLVERS = {
    "cg": jsp.sparse.linalg.cg,
    "bicgstab": jsp.sparse.linalg.bicgstab,
    "gmres": jsp.sparse.linalg.gmres,
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_linear_systems(name: str, dtype: Any):
    rng = np.random.default_rng(0)
    solve = SOLVERS[name]
    a = rng.normal(size=(8, 8)) + (1j * rng.normal(size=(8, 8)) if dtype == np.complex128 else 0)
    a = (a @ a.conj().T + 8 * np.eye(8)) if name == "cg" else a + 8 * np.eye(8)
    b = rng.normal(size=8).astype(dtype)
    with jitney.enable_x64(True):
        exact = np.linalg.solve(a, b)
        for operator in (a, lambda x: jnp.asarray(a) @ x):
            x, info = solve(operator, b, tol=1e-12)
            assert info is None
            np.testing.assert_allclose(x, exact, rtol=1e-9)
        np.testing.assert_allclose(
            solve(a, b, M=np.diag(1 / np.diag(a)), tol=1e-12)[0], exact, rtol=1e-9
        )
        np.testing.assert_allclose(solve(a, b, exact, tol=1e-12)[0], exact, rtol=1e-9)
        np.testing.assert_allclose(
            jitney.jit(lambda b: solve(a, b, tol=1e-12)[0])(b), exact, rtol=1e-9
        )
        if dtype == np.float64:
            weights = rng.normal(size=8)
            slope = jitney.grad(lambda b: jnp.vdot(weights, solve(a, b, tol=1e-12)[0]))(
                jnp.asarray(b)
            )
            np.testing.assert_allclose(slope, np.linalg.solve(a.T, weights), rtol=1e-8)
            by_a = jitney.grad(lambda a: jnp.vdot(weights, solve(a, b, tol=1e-12)[0]))(
                jnp.asarray(a)
            )
            np.testing.assert_allclose(by_a, -np.outer(slope, exact), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("name", SOLVERS)
def test_pytrees_of_unknowns(name: str):
    def operator(x: Any) -> Any:
        return {"a": 3 * x["a"] + x["b"].sum(), "b": 4 * x["b"] + x["a"].sum()}

    b = {"a": jnp.arange(2.0), "b": jnp.ones((2, 1))}
    x, _ = SOLVERS[name](operator, b)
    back = operator(x)
    for key in b:
        np.testing.assert_allclose(back[key], b[key], atol=1e-4)
    with pytest.raises(ValueError, match=r"structure of b, .*'a': \*.*'b': \*"):
        SOLVERS[name](operator, b, {"a": jnp.ones(2)})
    with pytest.raises(ValueError, match="must have the same shapes"):
        SOLVERS[name](lambda x: x, jnp.ones(2), jnp.ones(3))
    with pytest.raises(ValueError, match="square matrix"):
        SOLVERS[name](jnp.ones((2, 3)), jnp.ones(3))


@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_map_coordinates(mode: str, order: int, dtype: Any):
    rng = np.random.default_rng(0)
    image = (10 * rng.normal(size=(4, 5))).astype(dtype)
    places = [rng.uniform(-7, 9, 60).astype(np.float32) for _ in range(2)]
    # SciPy's mode for whole periods of the grid
    theirs = of_jax(lambda j: j.scipy.ndimage.map_coordinates(image, places, order, mode, 2.0))
    found = jsp.ndimage.map_coordinates(image, places, order, mode, 2.0)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, theirs, rtol=1e-4, atol=1e-4)
    inside = [np.clip(p, 0, n - 1) for p, n in zip(places, image.shape, strict=True)]
    exact = scipy.ndimage.map_coordinates(image, inside, order=order, mode=mode)
    if dtype == np.float32:
        ours = jsp.ndimage.map_coordinates(image, inside, order, mode)
        np.testing.assert_allclose(ours, exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
def test_map_coordinates_at_halves(mode: str, dtype: Any, size: int):
    x = np.arange(1, 1 + size).astype(dtype)
    near = [0.49999997, -0.49999997, 1.4999999, 8388607.5, -8388607.5]
    places = np.array([*np.arange(-40, 40) * 0.5, *near], np.float32)
    theirs = of_jax(lambda j: j.scipy.ndimage.map_coordinates(x, [places], 0, mode, -1))
    for f in (lambda f: f, jitney.jit):
        found = f(lambda x, at: jsp.ndimage.map_coordinates(x, [at], 0, mode, -1))(x, places)
        np.testing.assert_array_equal(found, theirs)


def test_map_coordinates_refuses():
    image, place = jnp.ones((2, 2)), jnp.zeros(1)
    with pytest.raises(ValueError, match="but holds 1"):
        jsp.ndimage.map_coordinates(image, [place], 1)
    with pytest.raises(NotImplementedError, match="order"):
        jsp.ndimage.map_coordinates(image, [place, place], 2)
    with pytest.raises(NotImplementedError, match="mode"):
        jsp.ndimage.map_coordinates(image, [place, place], 1, mode="other")


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [np.nan, 7.0, None])
def test_interpolation_on_a_grid(method: str, fill: float | None):
    rng = np.random.default_rng(0)
    grid = (np.array([0.0, 1.0, 2.5, 4.0]), np.array([-1.0, 0.5, 3.0]))
    values = rng.normal(size=(4, 3, 2))
    points = rng.uniform(-2, 5, (50, 2))
    exact = scipy.interpolate.RegularGridInterpolator(grid, values, method, False, fill)
    with jitney.enable_x64(True):
        ours = jsp.interpolate.RegularGridInterpolator(grid, values, method, False, fill)
        np.testing.assert_allclose(ours(points), exact(points), rtol=1e-11)
        np.testing.assert_allclose(jitney.jit(ours)(points), exact(points), rtol=1e-11)
        pair = (points[:, 0], points[:, 1])
        np.testing.assert_allclose(ours(pair), exact(pair), rtol=1e-11)


def test_interpolation_refuses():
    interpolator = jsp.interpolate.RegularGridInterpolator
    with pytest.raises(ValueError, match="method"):
        interpolator((jnp.arange(2.0),), jnp.arange(2.0), "other")
    with pytest.raises(ValueError, match="strictly ascending"):
        interpolator((jnp.zeros(2),), jnp.arange(2.0))
    with pytest.raises(ValueError, match="equal lengths in dimension 0"):
        interpolator((jnp.arange(3.0),), jnp.arange(2.0))
    with pytest.raises(NotImplementedError, match="bounds_error"):
        interpolator((jnp.arange(2.0),), jnp.arange(2.0), bounds_error=True)


Theirs = scipy.spatial.transform.Rotation
Ours = jsp.spatial.transform.Rotation


def rotations(count: int = 12) -> np.ndarray:
    rng = np.random.default_rng(0)
    quats = rng.normal(size=(count, 4))
    return quats / np.linalg.norm(quats, axis=1, keepdims=True)


@pytest.mark.parametrize("seq", ["xyz", "zyx", "zxz", "XYZ", "ZYX", "YXY"])
@pytest.mark.parametrize("degrees", [False, True])
def test_euler_angles(seq: str, degrees: bool):
    angles = np.random.default_rng(0).uniform(-3, 3, (9, 3))
    with jitney.enable_x64(True):
        ours = Ours.from_euler(seq, angles, degrees)
        exact = Theirs.from_euler(seq, angles, degrees)
        np.testing.assert_allclose(ours.as_matrix(), exact.as_matrix(), atol=1e-12)
        np.testing.assert_allclose(
            ours.as_euler(seq, degrees), exact.as_euler(seq, degrees), atol=1e-9
        )


def test_rotations():
    quats, vectors = rotations(), np.random.default_rng(1).normal(size=(12, 3))
    with jitney.enable_x64(True):
        ours, exact = Ours.from_quat(quats), Theirs.from_quat(quats)
        for name in ("as_matrix", "as_rotvec", "as_mrp", "magnitude"):
            np.testing.assert_allclose(getattr(ours, name)(), getattr(exact, name)(), atol=1e-12)
        np.testing.assert_allclose(
            ours.as_quat(canonical=True), exact.as_quat(canonical=True), atol=1e-12
        )
        for inverse in (False, True):
            np.testing.assert_allclose(
                ours.apply(vectors, inverse), exact.apply(vectors, inverse), atol=1e-12
            )
        for name in ("matrix", "rotvec", "mrp"):
            again = getattr(Ours, f"from_{name}")(getattr(ours, f"as_{name}")())
            np.testing.assert_allclose(again.as_matrix(), exact.as_matrix(), atol=1e-12)
        product = ours[:6] * ours[6:]
        np.testing.assert_allclose(
            product.as_matrix(), (exact[:6] * exact[6:]).as_matrix(), atol=1e-12
        )
        np.testing.assert_allclose(ours.inv().as_matrix(), exact.inv().as_matrix(), atol=1e-12)
        np.testing.assert_allclose(ours.mean().as_matrix(), exact.mean().as_matrix(), atol=1e-12)
        assert len(Ours.concatenate([ours, ours[0]])) == 13
        slope = jitney.grad(lambda v: Ours.from_rotvec(v).as_matrix().sum())(jnp.zeros(3))
        assert np.isfinite(np.asarray(slope)).all()
    assert Ours.identity(2).quat.shape == (2, 4)
    assert Ours.random(jitney.random.key(0), 3).quat.shape == (3, 4)
    with pytest.raises(TypeError, match="a single rotation has no length"):
        len(ours[0])
    with pytest.raises(ValueError, match="must differ, but it is 'xxz'"):
        Ours.from_euler("xxz", jnp.zeros(3))


def test_slerp():
    quats, times = rotations(5), np.array([0.0, 1.0, 2.5, 3.0, 7.0])
    at = np.linspace(0, 7, 23)
    exact = scipy.spatial.transform.Slerp(times, Theirs.from_quat(quats))(at)
    with jitney.enable_x64(True):
        slerp = jsp.spatial.transform.Slerp.init(times, Ours.from_quat(quats))
        np.testing.assert_allclose(slerp(at).as_matrix(), exact.as_matrix(), atol=1e-11)
        np.testing.assert_allclose(slerp(at[3]).as_matrix(), exact[3].as_matrix(), atol=1e-11)
    with pytest.raises(ValueError, match="at least two rotations"):
        jsp.spatial.transform.Slerp.init(times[:1], Ours.identity(1))


def test_vector_quantization():
    rng = np.random.default_rng(0)
    for shape in ((20,), (20, 3)):
        obs, codes = rng.normal(size=shape), rng.normal(size=(4, *shape[1:]))
        exact = scipy.cluster.vq.vq(obs, codes)
        with jitney.enable_x64(True):
            found = jsp.cluster.vq.vq(obs, codes)
        np.testing.assert_array_equal(found[0], exact[0])
        np.testing.assert_allclose(found[1], exact[1], rtol=1e-12)
    with pytest.raises(ValueError, match=r"the same rank, .*\(3,\) and \(2, 3\)"):
        jsp.cluster.vq.vq(jnp.ones(3), jnp.ones((2, 3)))
    with pytest.raises(ValueError, match="rank 1 or 2, not 3"):
        jsp.cluster.vq.vq(jnp.ones((1, 1, 1)), jnp.ones((1, 1, 1)))


def test_trapezoid():
    y, x = np.array([[0.0, 1.0, 4.0], [1.0, 1.0, 2.0]]), np.array([0.0, 2.0, 3.0])
    np.testing.assert_allclose(jsp.integrate.trapezoid(y, x), np.trapezoid(y, x))
    np.testing.assert_allclose(
        jsp.integrate.trapezoid(y, dx=0.5, axis=0), np.trapezoid(y, dx=0.5, axis=0)
    )
