"""qdax: MAP-Elites on the task of an arm."""

import functools
import sys

import jax
import numpy as np
from qdax.core.containers.mapelites_repertoire import compute_euclidean_centroids
from qdax.core.emitters.mutation_operators import isoline_variation
from qdax.core.emitters.standard_emitters import MixingEmitter
from qdax.core.map_elites import MAPElites
from qdax.tasks.arm import arm_scoring_function
from qdax.utils.metrics import default_qd_metrics

key = jax.random.key(42)
start = jax.random.uniform(key, (20, 8))
variation = functools.partial(
    isoline_variation, iso_sigma=0.05, line_sigma=0.1, minval=0.0, maxval=1.0
)
emitter = MixingEmitter(
    mutation_fn=lambda x, y: (x, y), variation_fn=variation, variation_percentage=1.0, batch_size=32
)
elites = MAPElites(
    scoring_function=arm_scoring_function,
    emitter=emitter,
    metrics_function=functools.partial(default_qd_metrics, qd_offset=0.0),
)
centroids = compute_euclidean_centroids((10, 10), 0.0, 1.0)
repertoire, emitter_state, first = elites.init(start, centroids, key)
update = jax.jit(elites.update)
for step in jax.random.split(key, 5):
    repertoire, emitter_state, metrics = update(repertoire, emitter_state, step)
np.savez(
    sys.argv[1],
    fitnesses=np.nan_to_num(repertoire.fitnesses, neginf=-9.0),
    **{k: np.asarray(v) for k, v in metrics.items()},
)
