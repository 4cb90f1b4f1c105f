"""`jax.sharding.no_collectives`: what communicates along axes of a mesh is an error, as in JAX."""

from tests.helpers.programs_alike import lines_alike

test_like_jax = lines_alike(__file__, "no_collectives_on_meshes.py")
