"""Programs over several processes, by `mpiexec` on this machine."""

import pytest
from tests.helpers.on_processes import NEEDS_MPI, SCRIPTS, run

pytestmark = [pytest.mark.slow, NEEDS_MPI]  # each starts two to four processes, some twice


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


def test_programs_are_kept_on_disk(tmp_path):
    def ran(n, *mode):
        cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path), "JITNEY_ENABLE_COMPILATION_CACHE": "1"}
        done = run(n, "-m", "jitney", str(SCRIPTS / "kept.py"), *mode, **cache)
        assert mode or done.returncode == 0, done.stdout + done.stderr
        return done

    for n in (2, 4):
        first, second = [ran(n).stdout.split() for _ in range(2)]
        assert first[:-1] == ["compiled"] * 3
        assert second[:-1] == ["loaded"] * 3
        assert first[-1] == second[-1]
    for _ in range(2):  # digests are compared whatever is found
        done = ran(2, "differ")
        assert done.returncode != 0
        assert "the program changed that is compiled differs between processes" in done.stderr
