"""Programs of packages that require JAX, like the first ones of their documentation, unmodified.

What each computes on JAX 0.12, with the packages at the versions in packages.txt, is recorded.
`python tools/package_programs.py` installs what they need, all of it or for a random share.
"""

from __future__ import annotations

import importlib.metadata
from functools import cache
from pathlib import Path

import pytest
from tests.helpers.library_programs import compare, confirms, on_this_package, results
from tests.helpers.oracle import answer

HERE = Path(__file__).parent
PROGRAMS = HERE / "packages"

# program -> distributions that it needs, besides jax and numpy
PACKAGES = {
    "aqtp": ("aqtp",),
    "array_api": ("array-api-compat", "scikit-learn", "scipy"),
    "asdex": ("asdex",),
    "augmax": ("augmax",),
    "bayex": ("bayex",),
    "brainstate": ("brainstate",),
    "chromax": ("chromax",),
    "coix": ("coix", "optax"),  # which its utilities import
    "contrax": ("contrax",),
    "coordinax": ("coordinax",),
    "coreax": ("coreax",),
    "craftax": ("craftax",),
    "cuthbert": ("cuthbert",),
    "diffmah": ("diffmah",),
    "dm_pix": ("dm-pix",),
    "drjax": ("drjax",),
    "dynamiqs": ("dynamiqs",),
    "efax": ("efax",),
    "esquilax": ("esquilax",),
    "evermore": ("evermore",),
    "evosax": ("evosax",),
    "exponax": ("exponax",),
    "flashbax": ("flashbax",),
    "flowmc": ("flowMC",),
    "fmmax": ("fmmax",),
    "folx": ("folx",),
    "gpjax": ("gpjax",),
    "grain": ("grain",),
    "halox": ("halox",),
    "interpax": ("interpax",),
    "jax_cosmo": ("jax-cosmo", "setuptools"),  # which it imports
    "jax_galsim": ("JAX-GalSim",),
    "jax_healpy": ("jax-healpy",),
    "jaxdf": ("jaxdf",),
    "jaxkd": ("jaxkd",),
    "jaxlie": ("jaxlie",),
    "jaxns": ("jaxns",),
    "jaxoplanet": ("jaxoplanet",),
    "jaxquantum": ("jaxquantum",),
    "jaxwt": ("jaxwt",),
    "jinns": ("jinns",),
    "jumanji": ("jumanji",),
    "kernex": ("kernex",),
    "klax": ("klax",),
    "lovely_jax": ("lovely-jax",),
    "matfree": ("matfree",),
    "mctx": ("mctx",),
    "mjx": ("mujoco-mjx",),
    "netket": ("netket",),
    "nifty": ("nifty",),
    "openscvx": ("openscvx",),
    "orthax": ("orthax",),
    "paramax": ("paramax",),
    "pennylane": ("pennylane",),
    "pgx": ("pgx",),
    "pytreeclass": ("pytreeclass",),
    "qdax": ("qdax",),
    "quadax": ("quadax",),
    "quax": ("quax", "equinox"),
    "qujax": ("qujax",),
    "qutip_jax": ("qutip-jax",),
    "qwix": ("qwix",),
    "rax": ("rax",),
    "ripplegw": ("rippleGW",),
    "s2fft": ("s2fft",),
    "sbijax": ("sbijax",),
    "signax": ("signax",),
    "squishyplanet": ("squishyplanet",),
    "tensorcircuit": ("tensorcircuit-ng",),
    "thermox": ("thermox",),
    "traceax": ("traceax",),
    "tree_math": ("tree-math",),
    "unxt": ("unxt", "quaxed"),
    "xminigrid": ("xminigrid",),
    "zodiax": ("zodiax",),
}

# By names of results, where programs amplify rounding: four times as much as results of real JAX differ
# by between instruction sets (of XLA: --xla_cpu_max_isa, and of OpenBLAS: OPENBLAS_CORETYPE).
LOOSER = {
    "bayex": {"tried": 1e-2},  # maxima of an acquisition function, flat where they are
    "coreax": {"distance": 5e-5},  # the root of a difference of means
    "cuthbert": {"slope": 2e-5},
    "evosax": {"CMA_ES_best": 2e-5, "CMA_ES_mean": 4e-5},
    "fmmax": {"transmitted": 1e-4, "slope": 1e-3},  # through eigenvectors
    "jaxoplanet": {"kepler": 1e-4},  # phases of an orbit, in float32
    "openscvx": {"states": 1.2e-4},  # of a solver that stops at a tolerance
}


@cache
def pins() -> dict[str, str]:
    """Distribution -> version that its programs are recorded with."""
    lines = (HERE / "packages.txt").read_text().split()
    return {_canonical(name): version for name, version in (line.split("==") for line in lines)}


def _canonical(name: str) -> str:
    return name.lower().replace("_", "-")


def is_installed(name: str) -> bool:
    try:
        return importlib.metadata.version(name) == pins()[_canonical(name)]
    except importlib.metadata.PackageNotFoundError:
        return False


@pytest.mark.libraries
@pytest.mark.parametrize("program", sorted(PACKAGES))
def test_package(program: str, request: pytest.FixtureRequest) -> None:
    absent = [name for name in PACKAGES[program] if not is_installed(name)]
    assert not absent or not request.config.getoption("--all-libraries"), f"not installed: {absent}"
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)} (python tools/package_programs.py)")
    text, looser = (PROGRAMS / f"with_{program}.py").read_text(), LOOSER.get(program, {})
    on_jax = answer(
        lambda: results(text, [], {"PYTHONPATH": ""}),
        [(name, pins()[_canonical(name)]) for name in PACKAGES[program]],
        agrees=lambda recorded, live: confirms(recorded, live, looser),
    )
    found = on_this_package(text)
    assert isinstance(on_jax, dict), f"{program} fails on JAX"
    compare(on_jax, found, looser)


def test_every_program_is_run() -> None:
    assert {p.stem.removeprefix("with_") for p in PROGRAMS.glob("*.py")} == {*PACKAGES}


def test_the_documents_say_which_versions_are_run() -> None:
    page = (HERE.parents[1] / "docs" / "libraries.md").read_text()
    table = page.split("\n## Packages\n")[1].split("\n\n")[1]
    rows = [line.split(" | ") for line in table.splitlines()]
    listed: dict[str, str] = {}
    for names, versions, _ in rows[2:]:
        listed.update(zip(names.strip("| ").split(", "), versions.split(", "), strict=True))
    beside = {"setuptools", "equinox", "scipy", "optax"}  # that others need
    wanted = {name for names in PACKAGES.values() for name in names} - beside
    assert listed == {name: pins()[_canonical(name)] for name in wanted}
