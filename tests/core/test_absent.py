"""Names that are absent get an explanation, for modules with all names in them."""

import pytest

from jitney.core.util.absent import missing_attribute, why_absent
from jitney.version import PACKAGE_VERSION

RELEASE = ".".join(PACKAGE_VERSION.split(".")[:2])


@pytest.mark.parametrize(
    "name, why",
    [
        ("jax.tree_map", "JAX has removed jax.tree_map; use jax.tree.map"),
        (
            "jax.ad_checkpoint.remat",
            "JAX 0.10 has removed jax.ad_checkpoint.remat; use jax.checkpoint",
        ),
        ("jax.cloud_tpu_init", f"jax.cloud_tpu_init is not in jitney {RELEASE}"),
        (
            "jax.experimental.pallas.tpu.load",
            f"jax.experimental.pallas.tpu.load is not in jitney {RELEASE}; nearest: jax.jit fuses "
            "loops over arrays into kernels",
        ),
        ("jax.export", None),  # only some of its names are absent
        ("jax.numpy.sin", None),
        ("jax", None),
    ],
)
def test_explanations(name, why):
    assert why_absent(name) == why


def test_other_names_are_only_missing():
    message = "module 'jax.numpy' has no attribute 'sine'"
    assert missing_attribute("jax.numpy", "sine") == message
    assert missing_attribute("jax.numpy", "in1d").endswith("use jax.numpy.isin")
