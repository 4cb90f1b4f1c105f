"""What holds for all tests."""

import gc
import importlib.util
import os
import random
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.oracle import installed_version, merge, oracle, save
from tests.helpers.skips import is_allowed

# Where processes of this run save the answers that they record.
PARTS = pytest.StashKey[Path]()

TESTS = Path(__file__).parent
# What the processes of a run count, attributes of `oracle`.
COUNTS = ("computed", "of_others", "new")
# Tests that were skipped for reasons that `--strict-skips` does not take, and the reasons.
unexpected_skips: dict[str, None] = {}

# Tests of what touches NumPy, SciPy, llvmlite, ml_dtypes and opt_einsum directly: they run with the
# oldest versions of these, too. Of all other tests a fixed tenth does.
COMPATIBILITY = (
    "cli/test_run",
    "cli/test_tour",
    "compiler/codegen",
    "compiler/reference",
    "compiler/scalar",
    "compiler/test_",
    "core/test_avals",
    "core/test_namespaces",
    "core/test_small_dtypes",
    "fuzz",
    "numpy/test_array_methods",
    "numpy/test_fft",
    "numpy/test_linalg",
    "runtime/test_array",
    "runtime/test_compiling",
    "runtime/test_debug_checks",
    "runtime/test_device",
    "runtime/test_disk",
    "runtime/test_donation",
    "runtime/test_eager",
    "runtime/test_elementwise",
    "runtime/test_input_lifetime",
    "runtime/test_many_axes",
    "runtime/test_memory",
    "runtime/test_native_calls",
    "runtime/test_threads",
    "scipy/test_fft",
    "scipy/test_linalg",
    "scipy/test_special",
)
TENTH = 10
# `make test-quick` runs a fixed twelfth of the tests that are not slow.
TWELFTH = 12

# Tests start hundreds of processes: without bytecode each would compile the package's files, for half a
# second.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Tests make objects by the million that stay until their module ends: to collect young ones takes a
# twentieth of the time, and as much again for what it evicts from the caches of the processor.
gc.set_threshold(20_000, *gc.get_threshold()[1:])
# Programs are compiled, not loaded from the disk cache of earlier runs; tests of the disk cache turn
# it back on.
os.environ["JITNEY_ENABLE_COMPILATION_CACHE"] = "0"
# Programs of tests run once or twice: to compile them at level 0 takes a third of the time, and their
# results have the same bits. The fuzzer and documents have the level that users have, and in the
# compatibility run code generation, too; `JITNEY_OPTIMIZATION_LEVEL=O2 make test` has all tests so.
os.environ.setdefault("JITNEY_OPTIMIZATION_LEVEL", "O0")
OPTIMIZED = ("fuzz", "test_docs", "test_tutorials")
OPTIMIZED_IN_COMPATIBILITY = (
    "compiler/codegen",
    "compiler/kernels",
    "compiler/plan",
    "compiler/scalar",
    "compiler/test_",
    "test_",
)
# Tests hand many functions to one helper, which makes a jitted function of each.
os.environ["JITNEY_PERFORMANCE_WARNINGS"] = "0"
# Real jax's programs are small and run once: its optimisations cost more than they save.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options of libraries and of the recorded oracle (`tests/helpers/oracle.py`)."""
    parser.addoption(
        "--record-oracle",
        action="store_true",
        help="asks real JAX what has no answer yet, and writes its answers to tests/oracle",
    )
    parser.addoption(
        "--record-anew",
        action="store_true",
        help="with --record-oracle: asks what has an answer, too, but for those of a newer JAX",
    )
    parser.addoption(
        "--older-answers",
        action="store_true",
        help="with --record-oracle: an older JAX than the newest may answer new questions",
    )
    parser.addoption(
        "--live-oracle",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="computes this share of the recorded answers anew and compares; prints its seed",
    )
    parser.addoption("--oracle-seed", type=int, default=None, help="of the share that is drawn")
    parser.addoption(
        "--all-libraries",
        action="store_true",
        help="tests of libraries that are not installed fail; otherwise they are skipped",
    )

    parser.addoption(
        "--newest-libraries",
        action="store_true",
        help="what programs of libraries compute on real JAX is asked, not looked up: of any versions",
    )
    parser.addoption(
        "--strict-skips",
        action="store_true",
        help="tests that are skipped for reasons that tests/helpers/skips.py lacks fail the run",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of the compatibility and the quick run; skips `live` ones without JAX.

    Files with slow tests come first, so that processes that share the files end at about one time.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    without_jax = importlib.util.find_spec("jax") is None
    for item in items:
        if without_jax and item.get_closest_marker("live"):
            item.add_marker(pytest.mark.skip(reason="real JAX is not installed"))
        place = item.path.relative_to(TESTS).as_posix()
        # By a checksum, so that the samples stay the same when tests are added.
        number = zlib.crc32(item.nodeid.encode())
        if number % TENTH == 0 or place.startswith(COMPATIBILITY):
            item.add_marker(pytest.mark.compat)
        if number % TWELFTH == 1 and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.quick)


def pytest_configure(config: pytest.Config) -> None:
    """Sets the oracle's mode; workers take the seed and directory of the process that started them."""
    oracle.recording = config.option.record_oracle
    oracle.records_anew = config.option.record_anew
    oracle.takes_older = config.option.older_answers
    if not 0 <= config.option.live_oracle <= 1:
        raise pytest.UsageError("--live-oracle takes a share of all answers, from 0 to 1")
    if config.option.live_oracle and importlib.util.find_spec("jax") is None:
        raise pytest.UsageError("--live-oracle asks real JAX, which is not installed")
    oracle.share = 1.0 if oracle.recording else config.option.live_oracle
    given = getattr(config, "workerinput", None)
    seed = config.option.oracle_seed if given is None else given["oracle_seed"]
    oracle.seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    if oracle.recording:
        parts = given["oracle_parts"] if given else tempfile.mkdtemp(prefix="jitney-oracle-")
        config.stash[PARTS] = Path(parts)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Gives whole files to processes."""
    if config.option.dist != "loadfile":
        return None
    from tests.helpers.distribute import FileScheduling

    return FileScheduling(config, log)


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Runs a test; a process of pytest-xdist sends its outcome alone."""
    if not hasattr(item.config, "workerinput"):
        return None
    from tests.helpers.distribute import run_and_report

    return run_and_report(item, nextitem)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a worker of pytest-xdist the seed and where it saves answers."""
    node.workerinput["oracle_seed"] = oracle.seed
    if oracle.recording:
        node.workerinput["oracle_parts"] = str(node.config.stash[PARTS])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Adds up how many answers the workers of pytest-xdist have computed anew."""
    counts = getattr(node, "workeroutput", {}).get("oracle_counts", (0, 0, 0))
    unexpected_skips.update(
        dict.fromkeys(getattr(node, "workeroutput", {}).get("skipped_modules", ()))
    )
    for name, count in zip(COUNTS, counts, strict=True):
        setattr(oracle, name, getattr(oracle, name) + count)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says which answers were computed anew: a quiet run has no header."""
    if oracle.share and not oracle.recording:
        terminalreporter.write_line(
            f"oracle: {oracle.share:.0%} live, --oracle-seed {oracle.seed}: {oracle.computed} answers "
            f"computed anew by JAX {installed_version()}, {oracle.of_others} drawn that others gave"
        )
    if terminalreporter.config.option.strict_skips:
        for skip in unexpected_skips:
            terminalreporter.write_line(f"skipped, and should not be: {skip}")


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Notes the modules of which not all tests run: their other records stay."""
    for item in items:
        oracle.leave(item.path)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Notes the modules of which tests are skipped: their records stay."""
    if report.skipped:
        oracle.leave(TESTS.parent / report.nodeid.partition("::")[0])
        _note_skip(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Notes the modules that are skipped as a whole."""
    if report.skipped:
        _note_skip(report)


def _note_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Notes a test or a module that is skipped for a reason that is not allowed."""
    if isinstance(report.longrepr, tuple):  # not a failure that was expected
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        if not is_allowed(reason):
            unexpected_skips[f"{report.nodeid}: {reason}"] = None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Saves the answers of this process, and joins all in the process that started the workers.

    A live run that has drawn answers and compared none of them fails, and so does one with strict skips
    that has others.
    """
    config = session.config
    if hasattr(config, "workerinput"):
        config.workeroutput["skipped_modules"] = [*unexpected_skips]
        config.workeroutput["oracle_counts"] = [getattr(oracle, name) for name in COUNTS]
    elif (oracle.of_others and not oracle.computed) or (
        config.option.strict_skips and unexpected_skips
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if not oracle.recording:
        return
    directory = config.stash[PARTS]
    save(directory)
    if not hasattr(config, "workerinput"):
        option = config.option
        # `--lf` leaves tests out without a word.
        are_some = getattr(option, "lf", False) or any("::" in x for x in option.file_or_dir)
        are_whole = exitstatus == 0 and not are_some
        print(f"\noracle: {oracle.new} answers recorded, by JAX {installed_version()}")
        for line in merge(directory, are_whole):
            print(line)
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(autouse=True)
def records_of_module(request: pytest.FixtureRequest) -> None:
    """Opens the records of the test's module."""
    oracle.enter(request.path)


@pytest.fixture(autouse=True, scope="module")
def level_of_machine_code(request: pytest.FixtureRequest) -> Iterator[None]:
    """Some tests have the level that users have."""
    from jitney import config  # after the environment is as it is to be

    name, variable = "jax_optimization_level", "JITNEY_OPTIMIZATION_LEVEL"
    chosen = os.environ[variable]
    optimized = OPTIMIZED
    if request.config.option.markexpr == "compat":
        optimized += OPTIMIZED_IN_COMPATIBILITY
    if request.path.relative_to(TESTS).as_posix().startswith(optimized):
        config.update(name, "O2")
        os.environ[variable] = "O2"
    yield
    os.environ[variable] = chosen
    config.update(name, chosen)


@pytest.fixture(autouse=True, scope="module")
def collections_are_short() -> Iterator[None]:
    """What earlier files have left is no garbage: collections that tests ask for pass over it.

    Real jax and thousands of programs are millions of objects, which take the better part of a second.
    """
    gc.collect()
    gc.freeze()
    yield
