"""openscvx: the brachistochrone by successive convexification."""

import sys

import numpy as np
import openscvx as ox

g = 9.81
position = ox.State("position", shape=(2,))
position.min = [0.0, 0.0]
position.max = [10.0, 10.0]
position.initial = [0.0, 10.0]
position.final = [10.0, 5.0]

velocity = ox.State("velocity", shape=(1,))
velocity.min = [0.0]
velocity.max = [10.0]
velocity.initial = [0.0]
velocity.final = [ox.Free(10.0)]

theta = ox.Control("theta", shape=(1,))
theta.min = [0.0]
theta.max = [1.755]
theta.guess = [[0.09], [1.755]]

dynamics = {
    "position": ox.Concat(velocity * ox.Sin(theta), -velocity * ox.Cos(theta)),
    "velocity": g * ox.Cos(theta),
}
constraints = []
for state in [position, velocity]:
    constraints.append(ox.ctcs(state <= state.max))
    constraints.append(ox.ctcs(state.min <= state))

problem = ox.Problem(
    dynamics=dynamics,
    constraints=constraints,
    states=[position, velocity],
    controls=[theta],
    time=ox.Time(initial=0.0, final=ox.Minimize(2.0), min=0.0, max=2.0),
    N=2,
)
problem.settings.dev.debug = True  # compiled functions are not exported
problem.settings.dev.printing = False
problem.initialize()
problem.solve()
results = problem.post_process()

np.savez(sys.argv[1], converged=results.converged, duration=results.t_final, states=results.x_full)
