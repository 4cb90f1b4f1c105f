"""`shard_map`, `pmap` and collectives over several devices, which processes of their own have."""

from pathlib import Path

from tests.helpers.programs_alike import lines_alike, printed, started

HERE = Path(__file__).parent


test_shard_map = lines_alike(__file__, "on_meshes.py")
test_unreduced_sums = lines_alike(__file__, "sums_on_meshes.py")
test_placements = lines_alike(__file__, "placements_on_meshes.py")
test_arrays_of_terms = lines_alike(__file__, "terms_on_meshes.py")
test_logs = lines_alike(__file__, "logs_on_meshes.py")


def test_collectives():
    assert printed(started(HERE / "collectives_on_meshes.py")) == ["done"]
