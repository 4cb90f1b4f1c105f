"""Imports every module of the package, each interrupted once in its first execution. Run by a test.

The argument says where: "last" at the last line of a module, or the seed of a choice of lines. Each
module is imported again until it is there; then functions are called that use what was declared.
"""

from __future__ import annotations

import importlib
import pathlib
import random
import sys

WHERE = sys.argv[1]
interrupted: set[str] = set()


def _lines(code):
    return [line for _, _, line in code.co_lines() if line]


def trace(frame, event, argument):
    """Raises KeyboardInterrupt in modules of the package that are executed for the first time."""
    code = frame.f_code
    if code.co_name != "<module>":
        return None
    name = frame.f_globals.get("__name__", "")
    if not name.startswith("jitney") or name in interrupted:
        return None
    lines = _lines(code)
    stop = lines[-1] if WHERE == "last" else random.choice(lines)

    def local(frame, event, argument):
        if event == "line" and frame.f_lineno == stop and name not in interrupted:
            interrupted.add(name)
            raise KeyboardInterrupt
        return local

    return local


def patiently(f, *args):
    """The result of `f(*args)`, tried again after each interrupt."""
    while True:
        sys.settrace(trace)  # what raises is not called any more
        try:
            return f(*args)
        except KeyboardInterrupt:
            pass


def use():
    """Functions that load modules late, eagerly and compiled."""
    import numpy as np

    import jitney as jax
    import jitney.numpy as jnp

    x = jnp.arange(1.0, 10.0).reshape(3, 3) + 5 * jnp.eye(3)
    calls = {
        "solve": lambda x: jnp.linalg.solve(x, x[0]),
        "eigh": lambda x: jnp.linalg.eigh(x @ x.T)[0],
        "convolve": lambda x: jnp.convolve(x[0], x[1]),
        "gamma": lambda x: jax.random.gamma(jax.random.key(1), x),
        "cumsum": lambda x: jnp.cumsum(x, 1),
        "checkpoint": lambda x: jax.grad(lambda y: jax.checkpoint(jnp.sin)(y).sum())(x),
        "sort": lambda x: jnp.sort(x, 0),
        "fft": lambda x: jnp.fft.fft(x).real,
        "loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c * 0.5 + i, x),
        "scan": lambda x: jax.lax.scan(lambda c, y: (c + y, c), x[0], x)[1],
        "vmap": lambda x: jax.vmap(lambda y: jnp.where(y > 3, y, -y).sum())(x),
    }
    for name, f in calls.items():
        eager = patiently(f, x)
        compiled = patiently(jax.jit(f), x)
        assert np.allclose(eager, compiled, rtol=1e-4), name
    assert patiently(jax.pmap(lambda y: y + 1), x[:1]).shape == (1, 3)
    ref = patiently(jax.new_ref, x)
    assert ref[...].shape == (3, 3)


def main():
    random.seed(WHERE)
    package = patiently(importlib.import_module, "jitney")
    root = pathlib.Path(package.__path__[0])
    for path in sorted(root.rglob("*.py")):
        parts = ["jitney", *path.relative_to(root).with_suffix("").parts]
        name = ".".join(parts).removesuffix(".__init__")
        if name.endswith("__main__") or name == "jitney.runtime.distributed.death_watch":
            continue
        try:
            patiently(importlib.import_module, name)
        except ModuleNotFoundError as error:  # of something optional
            assert not (error.name or "").startswith("jitney"), error
    use()
    sys.settrace(None)
    print(len(interrupted), "modules were interrupted")


main()
