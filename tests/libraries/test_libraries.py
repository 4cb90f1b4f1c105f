"""Programs of libraries for JAX, unmodified: on this package they compute what they do on JAX.

Each program writes named results to the file that it is given. They need `pip install .[libraries]`;
what is not installed is skipped. `python tools/run.py libraries` installs them and skips nothing.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAMS = Path(__file__).parent / "programs"
SOURCE = Path(__file__).parents[2] / "src"

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

# Relative to the largest element. float32 keeps seven digits; iterations lose some.
TOLERANCE = 1e-5
# After hundreds of steps of a sampler, rounding has led chains apart: their moments are near.
LOOSER = {
    ("blackjax", "statistics_of_w"): 0.15,
    ("numpyro", "moments"): 0.15,
    ("brax", "ant_x"): 1e-4,  # velocities behind contacts, which amplify
    ("jaxopt", "sensitivity"): 1e-4,  # of a descent that ends where the gradient is below 1e-4
    # After steps of expectation maximization. Of float64's result JAX's covariances are 2.3e-5 away,
    # ours 0.8e-5; JAX's own move by 2e-5 with other instructions (--xla_cpu_max_isa).
    ("dynamax", "covariances"): 1e-4,
    ("dynamax", "smoothed"): 1e-4,
}


def start(program, results, package):
    """The program as a process on real jax, or on this package."""
    environment = dict(os.environ, JAX_PLATFORMS="cpu")
    environment.pop("PYTHONPATH", None)
    words = [sys.executable]
    if package == "jitney":
        environment["PYTHONPATH"] = str(SOURCE)
        words += ["-m", "jitney"]
    return subprocess.Popen(
        [*words, str(PROGRAMS / f"with_{program}.py"), str(results)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


@pytest.mark.libraries
@pytest.mark.parametrize("program", sorted(LIBRARIES))
def test_library(program, tmp_path, request):
    absent = [x for x in ("jax", *LIBRARIES[program]) if importlib.util.find_spec(x) is None]
    assert not absent or not request.config.getoption("--all-libraries"), f"not installed: {absent}"
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)} (pip install .[libraries])")
    files = {package: tmp_path / f"{package}.npz" for package in ("jax", "jitney")}
    processes = {package: start(program, file, package) for package, file in files.items()}
    for package, process in processes.items():
        output, _ = process.communicate(timeout=600)
        assert process.returncode == 0, f"{program} on {package}:\n{output}"
    expected, found = (np.load(files[package]) for package in ("jax", "jitney"))
    assert sorted(found.files) == sorted(expected.files)
    for name in expected.files:
        compare(program, name, expected[name], found[name])


def compare(program, name, expected, found):
    assert found.dtype == expected.dtype, name
    assert found.shape == expected.shape, name
    if expected.dtype.kind in "fc":
        tolerance = LOOSER.get((program, name), TOLERANCE) * np.max(np.abs(expected))
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance, err_msg=name)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=name)


def test_every_program_is_run():
    assert {p.stem.removeprefix("with_") for p in PROGRAMS.glob("*.py")} == set(LIBRARIES)
