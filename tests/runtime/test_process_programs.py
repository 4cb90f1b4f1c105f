"""Programs over several processes, by `mpiexec` on this machine."""

import pytest
from tests.helpers.on_processes import NEEDS_MPI, SCRIPTS, run

pytestmark = [pytest.mark.slow, NEEDS_MPI]


@pytest.mark.parametrize(
    ("script", "n", "devices"),
    [("collectives", 2, 1), ("collectives", 3, 1), ("collectives", 4, 1), ("programs", 2, 2),
     ("programs", 3, 1), ("programs", 4, 2), ("utilities", 2, 2), ("utilities", 3, 1),
     ("mapped", 2, 2), ("mapped", 3, 1)],
)  # fmt: skip
def test_processes(script, n, devices):
    done = run(n, str(SCRIPTS / f"{script}.py"), devices=devices)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "ok\n"
