"""dm-pix: images transformed, blurred, warped and compared."""

import sys

import dm_pix as pix
import jax
import jax.numpy as jnp
import numpy as np

key = jax.random.PRNGKey(0)
image = jax.random.uniform(key, (16, 18, 3))
other = jnp.clip(image + 0.1 * jax.random.normal(key, image.shape), 0, 1)

np.savez(
    sys.argv[1],
    contrast=pix.adjust_contrast(image, 1.5),
    hue=pix.adjust_hue(image, 0.2),
    saturation=pix.adjust_saturation(image, 1.3),
    blurred=pix.gaussian_blur(image, 1.2, 5),
    rotated=pix.rotate(image, 0.4, order=1),
    flipped=pix.flip_left_right(image),
    gray=pix.rgb_to_grayscale(image),
    hsv=pix.rgb_to_hsv(image),
    lab=pix.rgb_to_hsl(image),
    psnr=pix.psnr(image, other),
    ssim=pix.ssim(image, other, max_val=1.0),
    slope=jax.grad(lambda x: pix.ssim(x, other, max_val=1.0))(image),
    cropped=pix.random_crop(key, image, (8, 8, 3)),
)
