"""augmax: images cropped, rotated, warped and recolored at random, with masks and points."""

import sys

import augmax
import jax
import jax.numpy as jnp
import numpy as np

transform = augmax.Chain(
    augmax.RandomCrop(12, 12),
    augmax.HorizontalFlip(),
    augmax.Rotate(),
    augmax.Warp(coarseness=8),
    augmax.ColorJitter(),
    input_types=[augmax.InputType.IMAGE, augmax.InputType.MASK, augmax.InputType.KEYPOINTS],
)
image = jax.random.uniform(jax.random.key(0), (32, 32, 3))
mask = (image.sum(-1) > 1.5).astype(jnp.int32)
points = jnp.array([[4.0, 5.0], [20.0, 12.0]])
keys = jax.random.split(jax.random.PRNGKey(27), 3)
images, masks, moved = jax.jit(jax.vmap(transform, (0, None)))(keys, [image, mask, points])

np.savez(sys.argv[1], images=images, masks=masks, moved=moved)
