"""A contestant makes equal arguments for all, counts enough calls, and summarizes results."""

import functools
import itertools

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.cli import bench_worker
from jitney.cli.bench_worker import Contestant, Unable


def of(contestant, function=None):
    """A contestant whose program has been loaded already."""
    own = Contestant.__new__(Contestant)
    own.contestant, own.function, own.args, own.kwargs = contestant, function, (), {}
    own.program = {}
    return own


def test_parameters_without_a_default_are_vectors():
    @functools.wraps(lambda x, y, scale=2.0, *rest, z, **options: None)
    def f(*args, **kwargs):
        pass

    args, kwargs = bench_worker.arguments(f, {}, 5, "numpy")
    again, _ = bench_worker.arguments(f, {}, 5, "numba")
    assert [x.shape for x in args] == [(5,)] * 2 and list(kwargs) == ["z"]
    for x in (*args, kwargs["z"]):
        assert type(x) is np.ndarray and x.dtype == np.float32
        assert (x >= 0).all() and (x < 1).all()
    assert not np.array_equal(args[0], args[1])
    np.testing.assert_array_equal(args, again)


def test_programs_may_make_their_arguments():
    program = {"make_arguments": lambda size: (jnp.ones((size, 2)), "text", {"n": 3})}
    (x, text, tree), kwargs = bench_worker.arguments(len, program, 4, "numba")
    assert (type(x), x.shape, text, tree, kwargs) == (np.ndarray, (4, 2), "text", {"n": 3}, {})
    ((single,), _) = bench_worker.arguments(len, {"make_arguments": np.zeros}, 3, "numpy")
    assert single.shape == (3,)


def test_programs_are_run_without_being_main(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("value = 2\ndef f(x):\n    return x * value\nname = __name__\nfour = 4\n")
    program, function = bench_worker._run(str(path), "f")
    assert program["name"] == "program" and function(3) == 6
    program["value"] = 5
    assert function(3) == 15
    for name in ("g", "four"):
        with pytest.raises(Unable, match=rf"program\.py has no function {name}"):
            bench_worker._run(str(path), name)


def test_functions_are_jitted_once():
    def f(x):
        return x + 1

    call = bench_worker._jitted(f, jax)
    assert call(1) == 2 and call.__name__ == "f"
    traces = []
    jitted = jax.jit(lambda x: traces.append(type(x)) or x + 1)
    assert bench_worker._jitted(jitted, jax)(np.int8(1)) == jitted(np.int8(1)) == 2
    assert len(traces) == 1 and call(2) == 3


def test_means_of_calls(monkeypatch):
    ticks, calls = itertools.count(0.0, 0.5), []
    monkeypatch.setattr(bench_worker.time, "perf_counter", lambda: next(ticks))
    own = of("numpy", lambda: calls.append(1))
    assert own.seconds(5) == 0.1 and len(calls) == 5
    monkeypatch.setattr(own, "seconds", lambda n: 0.001)
    assert own._enough_calls() == round(bench_worker.SHORTEST / 0.001)
    monkeypatch.setattr(own, "seconds", lambda n: 10.0)
    assert own._enough_calls() == 1


def test_summaries_do_not_depend_on_the_kind_of_array():
    result = {"a": np.float32([3, -1]), "b": np.zeros(0), "c": "text", "d": np.array([True, False])}
    assert of("numpy")._summary(result) == [1.0, 2.0, 0.5, 0.5]
    assert of("numpy")._summary(np.array([3 + 4j, 0])) == [2.5, 2.5]
    with pytest.raises(Unable, match="numpy cannot run the functions that it imports from jax"):
        of("numpy")._summary(jnp.ones(2))


def test_errors_are_told_in_one_line():
    assert bench_worker._in_one_line(Unable("not installed")) == "not installed"
    assert bench_worker._in_one_line(ValueError("\nfirst\nsecond")) == "ValueError: first"
    assert bench_worker._in_one_line(KeyError()) == "KeyError: "
