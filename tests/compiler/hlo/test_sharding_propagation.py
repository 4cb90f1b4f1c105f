"""Results of compiled programs are sharded as XLA shards them."""

from pathlib import Path

from tests.helpers.programs_alike import printed, printed_by_jax, started

PROGRAM = Path(__file__).parent / "propagated_on_devices.py"


def test_results_are_sharded_as_jax_shards_them():
    ours, theirs = printed(started(PROGRAM, "jitney")), printed_by_jax(PROGRAM, "jax")
    assert ours == theirs
    assert len(ours) > 60 and all(line.endswith(" True") for line in ours)
