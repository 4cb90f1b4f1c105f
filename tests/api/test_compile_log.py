"""What is told of tracing and compiling: the log, `jax.monitoring`, explanations of cache misses."""

import logging
import operator

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.core.settings import config


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.DEBUG, logger="jitney")

    def of_this_package(level=logging.DEBUG):
        records = [r for r in caplog.records if r.name.startswith("jitney")]
        return [r.getMessage() for r in records if r.levelno >= level]

    return of_this_package


@pytest.mark.parametrize("loud", [False, True])
def test_compilations_are_logged(lines, loud):
    jitney.clear_caches()
    f = jitney.jit(lambda x: jnp.sin(x) * 2 + 1)
    with jitney.log_compiles(loud):
        f(2.0)
        f(3.0)
    said = lines(logging.WARNING if loud else logging.DEBUG)
    for part in (
        "tracing <lambda> for jit",
        "lowering of jit(<lambda>)",
        "LLVM compilation of jit(<lambda>)",
    ):
        assert sum(f"Finished {part} in " in line for line in said) == 1
    assert sum("Compiling jit(<lambda>) for arguments of types float32[]" in s for s in said) == 1
    assert bool(lines(logging.WARNING)) is loud


def test_code_that_is_reused_is_logged(lines):
    for _ in range(2):
        jitney.jit(lambda x: jnp.sin(x) * 5 + 1)(2.0)
    of_code = [line for line in lines() if "LLVM" in line or "code of jit(<lambda>)" in line]
    assert len(of_code) == 2 and "compiled for an equal program" in of_code[1]


def test_programs_from_the_cache_are_not_said_to_be_compiled(lines, tmp_path):
    events = []
    jitney.monitoring.register_event_listener(lambda event: events.append(event.rpartition("/")[2]))
    try:
        with config.enable_compilation_cache(True), config.compilation_cache_dir(str(tmp_path)):
            for _ in range(2):
                jitney.clear_caches()
                jitney.jit(lambda x: jnp.sin(x) * 7 + 1)(2.0)
    finally:
        jitney.monitoring.clear_event_listeners()
    asks = "compile_requests_use_cache"
    assert [each for each in events if "cache" in each] == [
        asks,
        "cache_misses",
        asks,
        "cache_hits",
    ]
    said = lines()
    assert sum("Finished LLVM compilation of jit(<lambda>) in " in line for line in said) == 1
    loaded = "Finished loading jit(<lambda>) from the cache on disk in "
    assert sum(loaded in line for line in said) == 1


def test_durations_are_told_to_listeners():
    heard = []

    def listener(event, seconds, **metadata):
        heard.append((event.rpartition("/")[2], seconds >= 0, metadata["fun_name"]))

    jitney.monitoring.register_event_duration_secs_listener(listener)
    try:
        jitney.jit(lambda x: jnp.cos(x) - 1)(2.0)
    finally:
        jitney.monitoring.unregister_event_duration_listener(listener)
    kinds = ("jaxpr_trace_duration", "jaxpr_to_mlir_module_duration", "backend_compile_duration")
    assert [item for item in heard if item[2] == "<lambda>"] == [
        (k, True, "<lambda>") for k in kinds
    ]


def test_records_reach_their_listeners():
    monitoring, heard = jitney.monitoring, []

    def listener(*args, **metadata):
        heard.append((*args, metadata))

    monitoring.register_event_listener(listener)
    monitoring.register_scalar_listener(listener)
    monitoring.register_event_time_span_listener(listener)
    monitoring.record_event("/a", k=1)
    monitoring.record_scalar("/b", 2.5)
    monitoring.record_event_time_span("/c", 1.0, 2.0)
    monitoring.record_event_duration_secs("/d", 1.0)  # without a listener
    monitoring.unregister_scalar_listener(listener)
    monitoring.record_scalar("/b", 3)
    monitoring.clear_event_listeners()
    monitoring.record_event("/a")
    assert heard == [("/a", {"k": 1}), ("/b", 2.5, {}), ("/c", 1.0, 2.0, {})]
    with pytest.raises(AssertionError, match="not registered"):
        monitoring.unregister_event_listener(listener)


# --- cache misses ---------------------------------------------------------------------------------


def explained(lines, *calls):
    with jitney.explain_cache_misses(True):
        for call in calls:
            call()
    return [line for line in lines(logging.WARNING) if "TRACING CACHE MISS" in line]


def test_first_calls(lines):
    @jitney.jit
    def f(x):
        return x

    (text,) = explained(lines, lambda: f(1.0), lambda: f(2.0))
    assert "never seen function" in text
    assert "test_compile_log.py" in text


def test_what_differs_is_named(lines):
    @jitney.jit
    def f(x, y):
        return x, y

    x, y = np.float32(0), np.arange(2, dtype=np.float32)
    f(x, y)

    def with_other_settings():
        with jitney.numpy_rank_promotion("warn"), jitney.default_matmul_precision("high"):
            f(x, y)

    shape, weak, dtype, tree, settings = explained(
        lines,
        lambda: f(x, y[:1]),
        lambda: f(0.0, y),
        lambda: f(np.int32(0), y[:1]),
        lambda: f(x, (y, y)),
        with_other_settings,
    )
    assert "different input types" in shape
    assert "at y, now f32[1] and before f32[2]" in shape
    assert "at x, now i32[] and before f32[]" in dtype
    assert "at x, now f32[]{weak_type=True} and before f32[]{weak_type=False}" in weak
    assert "#weak-types" in weak
    assert "different input pytree" in tree
    assert "args[1]" in tree
    assert "now warn and before allow" in settings
    assert "now high and before None" in settings


def test_of_equally_near_calls_the_last_is_compared(lines):
    f = jitney.jit(lambda x: x)
    for n in (2, 3, 4):
        f(np.zeros(n, np.float32))
    (text,) = explained(lines, lambda: f(np.zeros(9, np.float32)))
    assert "now f32[9] and before f32[4]" in text


def test_static_arguments(lines):
    f = jitney.jit(lambda x, n: x * n, static_argnums=1)
    f(1.0, 2)
    (text,) = explained(lines, lambda: f(1.0, 3))
    assert "different static arguments: now n=3 and before n=2" in text
    named = jitney.jit(lambda x, n: x * n, static_argnames="n")
    named(1.0, n=2)
    *_, text = explained(lines, lambda: named(1.0, n=3))
    assert "different static arguments: now n=3 and before n=2" in text
    several = jitney.jit(lambda x, *sizes: x * sizes[1], static_argnums=(1, 2))
    several(1.0, 2, 3)
    *_, text = explained(lines, lambda: several(1.0, 2, 4))
    assert "now sizes[0]=2, sizes[1]=4 and before sizes[0]=2, sizes[1]=3" in text


def test_functions_made_in_loops(lines):
    def call():
        jitney.jit(lambda x: 2 * x)(3)

    _, text = explained(lines, call, call)
    assert "a function with the same code has been traced before" in text


def test_functions_of_the_package_are_not_explained(lines):
    assert not explained(lines, lambda: jnp.sin(jnp.arange(7, dtype=np.float32)))
    assert explained(lines, lambda: jitney.jit(operator.neg)(1))  # without source


def test_functions_of_other_files_are_not_the_same_lines(lines):
    """Code is compared without its file."""
    functions = []
    for file in ("one.py", "two.py"):
        names = {}
        exec(compile("def f(x):\n    return x - 5\n", file, "exec"), names)
        functions.append(names["f"])
    one, two = functions
    assert one.__code__ == two.__code__
    again = type(one)(one.__code__, one.__globals__)
    texts = explained(lines, *[lambda f=f: jitney.jit(f)(1.0) for f in (one, two, again)])
    assert ["with the same code" in text for text in texts] == [False, False, True]
