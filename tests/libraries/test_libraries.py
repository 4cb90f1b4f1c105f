"""Programs of libraries for JAX, unmodified: on this package they compute what they do on JAX.

Each program writes named results to the file that it is given. What it computes on real JAX, with the
versions of libraries that pyproject.toml pins, is recorded. The libraries come by `pip install
.[libraries]`; what is not installed is skipped. `python tools/run.py libraries` installs them and skips
nothing; with `--live-oracle 0.1` a tenth of them runs on real JAX, too. With `--newest` they are of the
newest versions, and all run on real JAX first.
"""

import importlib.metadata
import importlib.util
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.library_programs import compare, confirms, on_this_package, results
from tests.helpers.oracle import Raised, answer

PROGRAMS = Path(__file__).parent / "programs"

# program -> libraries that it imports, besides jax and numpy
LIBRARIES = {
    "blackjax": ("blackjax",),
    "brax": ("brax",),
    "chex": ("chex",),
    "diffrax": ("diffrax",),
    "distrax": ("distrax", "optax"),
    "distreqx": ("distreqx", "equinox", "optax"),
    "dynamax": ("dynamax",),
    "e3nn": ("e3nn_jax", "optax"),
    "einops": ("einops",),
    "equinox": ("equinox", "optax"),
    "flax_linen": ("flax", "optax"),
    "flax_nnx": ("flax", "optax"),
    "flowjax": ("flowjax", "equinox"),
    "gymnax": ("gymnax",),
    "haiku": ("haiku", "optax"),
    "jax_md": ("jax_md",),
    "jax_tqdm": ("jax_tqdm",),
    "jaxley": ("jaxley",),
    "jaxopt": ("jaxopt",),
    "jaxtyping": ("jaxtyping",),
    "jraph": ("jraph", "optax"),
    "keras": ("keras",),
    "lineax": ("lineax",),
    "numpyro": ("numpyro",),
    "optax": ("optax",),
    "optimistix": ("optimistix",),
    "orbax": ("orbax", "flax", "optax"),
    "ott": ("ott",),
    "penzai": ("penzai", "treescope", "optax"),
    "rlax": ("rlax",),
    "sympy2jax": ("sympy2jax", "equinox", "optax"),
    "tfp": ("tensorflow_probability", "optax"),
    "tinygp": ("tinygp", "optax"),
}

# After hundreds of steps of a sampler, rounding has led chains apart: their moments are near.
LOOSER = {
    "blackjax": {"statistics_of_w": 0.3},
    "numpyro": {"moments": 0.15},
    "brax": {"ant_x": 1e-4},  # velocities behind contacts, which amplify
    "jaxopt": {"sensitivity": 1e-4},  # of a descent that ends where the gradient is below 1e-4
    # After steps of expectation maximization. Of float64's result JAX's covariances are 2.3e-5 away,
    # ours 0.8e-5; JAX's own move by 2e-5 with other instructions (--xla_cpu_max_isa).
    "dynamax": {"covariances": 1e-4, "smoothed": 1e-4},
}


def versions(program):
    """The libraries that the program imports, with their versions."""
    distributions = importlib.metadata.packages_distributions()
    return [
        (name, importlib.metadata.version(distributions[name][0])) for name in LIBRARIES[program]
    ]


@pytest.mark.libraries
@pytest.mark.parametrize("program", sorted(LIBRARIES))
def test_library(program, request):
    absent = [x for x in LIBRARIES[program] if importlib.util.find_spec(x) is None]
    assert not absent or not request.config.getoption("--all-libraries"), f"not installed: {absent}"
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)} (pip install .[libraries])")
    text, looser = (PROGRAMS / f"with_{program}.py").read_text(), LOOSER.get(program, {})
    if request.config.getoption("--newest-libraries"):
        compare(_of_newest_jax(program, text), on_this_package(text), looser)
        return
    on_jax = answer(
        lambda: results(text, [], {"PYTHONPATH": ""}),
        versions(program),
        last="0.10.2",  # the libraries are those of Python 3.11
        agrees=lambda recorded, live: confirms(recorded, live, looser),
    )
    found = on_this_package(text)
    assert isinstance(on_jax, dict), f"{program} fails on JAX"
    compare(on_jax, found, looser)


def _of_newest_jax(program, text):
    try:
        return results(text, [], {"PYTHONPATH": ""})
    except AssertionError as error:
        found = ", ".join(map(" ".join, [*versions(program), ("jax", version("jax"))]))
        pytest.skip(f"fails on real JAX, too ({found}): {str(error).strip().splitlines()[-1]}")


def test_every_program_is_run():
    assert {p.stem.removeprefix("with_") for p in PROGRAMS.glob("*.py")} == set(LIBRARIES)


def test_what_confirms_a_record():
    recorded = {"loss": np.array([4.6680851, -2.0]), "steps": np.array(3)}
    assert confirms(recorded, {**recorded, "loss": np.array([4.6680855, -2.0])}, {})
    assert not confirms(recorded, {**recorded, "loss": np.array([4.6690851, -2.0])}, {})
    assert not confirms(recorded, {**recorded, "steps": np.array(4)}, {})
    assert not confirms(recorded, {"loss": recorded["loss"]}, {})
    assert not confirms(recorded, Raised(("ValueError",)), {})
