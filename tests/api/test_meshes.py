"""`shard_map`, `pmap` and collectives over several devices, which processes of their own have."""

from pathlib import Path

import pytest
from tests.helpers.programs_alike import check_prints_alike, printed, started

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    "program",
    ["on_meshes.py", "sums_on_meshes.py", "placements_on_meshes.py", "terms_on_meshes.py"],
)
def test_like_jax(program):
    check_prints_alike(HERE / program)


def test_collectives():
    assert printed(started(HERE / "collectives_on_meshes.py")) == ["done"]
