"""jax-md: particles relaxed, and simulated at constant energy or temperature; stress, bonds."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax_md import energy, minimize, quantity, simulate, smap, space

side, spacing = 5, 1.2
length = side * spacing
lattice = np.stack(np.meshgrid(*[np.arange(side)] * 3), -1).reshape(-1, 3) * spacing
noise = 0.05 * np.random.default_rng(0).normal(size=lattice.shape)
start = jnp.asarray((lattice + noise) % length, jnp.float32)

displacement, shift = space.periodic(length)
neighbors_of, energy_of = energy.lennard_jones_neighbor_list(
    displacement, length, r_onset=1.5, r_cutoff=2.0, dr_threshold=0.4
)
neighbors = neighbors_of.allocate(start)

init, apply = minimize.fire_descent(energy_of, shift, dt_start=1e-3, dt_max=4e-3)


def descend(carry, _):
    state, neighbors = carry
    neighbors = neighbors.update(state.position)
    state = apply(state, neighbor=neighbors)
    return (state, neighbors), energy_of(state.position, neighbor=neighbors)


(relaxed, neighbors), descent = lax.scan(
    descend, (init(start, neighbor=neighbors), neighbors), None, length=30
)

init, apply = simulate.nve(energy_of, shift, dt=1e-3)
moving = init(jax.random.key(0), relaxed.position, kT=0.2, neighbor=neighbors)


@jax.jit
def move(carry):
    state, neighbors = carry
    neighbors = neighbors.update(state.position)
    return apply(state, neighbor=neighbors), neighbors


for _ in range(50):
    moving, neighbors = move((moving, neighbors))
total = energy_of(moving.position, neighbor=neighbors) + quantity.kinetic_energy(
    momentum=moving.momentum
)

init, apply = simulate.nvt_nose_hoover(energy_of, shift, 1e-3, 0.3)
state = init(jax.random.key(1), relaxed.position, neighbor=neighbors)
for _ in range(20):
    state = jax.jit(apply)(state, neighbor=neighbors)

# Soft spheres of two kinds, all pairs; their stress, and how the energy depends on the size.
kinds = jnp.arange(len(start)) % 2
sizes = jnp.array([[1.0, 1.1], [1.1, 1.25]])
spheres = energy.soft_sphere_pair(displacement, species=kinds, sigma=sizes)
fractional, _ = space.periodic_general(length)
of_box = energy.soft_sphere_pair(fractional, species=kinds, sigma=sizes)
unit = start / length


def bond(r, length=1.0, epsilon=2.0, **_):
    return epsilon * (r - length) ** 2


chain = jnp.stack([jnp.arange(9), jnp.arange(1, 10)], 1)
springs = smap.bond(bond, space.metric(displacement), chain)

np.savez(
    sys.argv[1],
    descent=np.array(descent),
    relaxed=relaxed.position,
    overflowed=np.array(neighbors.did_buffer_overflow),
    moved=moving.position,
    total=total,
    thermostat=quantity.temperature(momentum=state.momentum),
    spheres=spheres(start),
    forces=quantity.force(spheres)(start),
    stress=quantity.stress(of_box, unit, length * jnp.eye(3)),
    pairs=quantity.pair_correlation(displacement, jnp.linspace(0.5, 2.5, 20), 0.1)(start).mean(0),
    springs=jax.grad(springs)(start)[:10],
)
