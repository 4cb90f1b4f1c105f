"""jinns: a network trained to solve a logistic equation."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import jinns
import numpy as np
import optax

k1, k2 = jax.random.split(jax.random.PRNGKey(2))
layers = (
    (eqx.nn.Linear, 1, 16),
    (jax.nn.tanh,),
    (eqx.nn.Linear, 16, 16),
    (jax.nn.tanh,),
    (eqx.nn.Linear, 16, 1),
)
u, nn_params = jinns.nn.PINN_MLP.create(key=k1, eqx_list=layers, eq_type="ODE")
params = jinns.parameters.Params(nn_params=nn_params, eq_params={"rate": jnp.array(2.0)})
data = jinns.data.DataGeneratorODE(key=k2, nt=100, tmin=0.0, tmax=1.0, temporal_batch_size=20)


class Logistic(jinns.loss.ODE):
    def equation(self, t, u, params):
        value, slope = jax.jvp(lambda t: u(t, params), (t,), (jnp.ones_like(t),))
        return slope - params.eq_params.rate * value * (1 - value)


loss = jinns.loss.LossODE(
    u=u,
    dynamic_loss=Logistic(),
    initial_condition=(0.0, jnp.array([0.2])),
    loss_weights=jinns.loss.LossWeightsODE(dyn_loss=1.0, initial_condition=2.0),
    params=params,
)
solved, losses, *_ = jinns.solve(
    init_params=params,
    data=data,
    loss=loss,
    optimizer=optax.adam(1e-2),
    n_iter=100,
    verbose=False,
)
times = jnp.linspace(0, 1, 5)[:, None]
values = jax.vmap(lambda t: u(t, solved))(times)

np.savez(sys.argv[1], losses=losses, values=values)
