"""jax-tqdm: progress meters in scans and loops, in jit and under vmap."""

import io
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax_tqdm import PBar, loop_tqdm, scan_tqdm

text = io.StringIO()
steps = 50


@scan_tqdm(steps, print_rate=10, file=text, desc="scan", mininterval=0)
def body(carry, i):
    return carry * 0.9 + jnp.sin(i), carry


@loop_tqdm(steps, print_rate=10, file=text, desc="loop", mininterval=0)
def loop(i, x):
    return 0.5 * x + jnp.cos(i * 0.1)


last, history = jax.jit(lambda x: jax.lax.scan(body, x, jnp.arange(steps)))(0.5)
looped = jax.jit(lambda x: jax.lax.fori_loop(0, steps, loop, x))(0.1)


def chain(i, x):
    final, _ = jax.lax.scan(body, PBar(id=i, carry=x), jnp.arange(steps))
    return final.carry


many = jax.jit(jax.vmap(chain))(jnp.arange(2), jnp.array([0.5, -0.5]))
jax.effects_barrier()
shown = text.getvalue()
np.savez(
    sys.argv[1],
    last=last,
    history=history,
    looped=looped,
    many=many,
    finished=np.array([f"{name}: 100%" in shown for name in ("scan", "loop")]),
    counts=np.array([f"{n}/{steps}" in shown for n in range(steps + 1)]),
)
