"""Annotations are those of the context in which an equation is recorded."""

import threading

import numpy as np

import jitney
from jitney.core.recording.eqn_notes import Notes, current, noting
from jitney.core.settings import options


def test_inner_contexts_override_single_fields():
    with noting(compute_type="device_host"):
        with noting(xla_metadata=(("a", 1),)):
            assert current() == Notes("device_host", (("a", 1),))
        assert current() == Notes("device_host")
    assert current() == Notes()


def test_equations_keep_the_annotations():
    def f(x):
        with noting(compute_type="device_host", xla_metadata=(("a", 1),)):
            y = x + 1
        return y * 2

    first, second = jitney.make_jaxpr(f)(np.float32(1)).eqns
    assert (first.ctx.compute_type, first.ctx.xla_metadata) == ("device_host", {"a": 1})
    assert second.ctx is None or (second.ctx.compute_type, second.ctx.xla_metadata) == (None, None)


def test_annotations_are_part_of_what_traces_depend_on():
    outside = options.trace_epoch()
    with noting(compute_type="device_host"):
        inside = options.trace_epoch()
    with noting(compute_type="device_host"):
        assert options.trace_epoch() == inside != outside
    seen = []
    with noting(compute_type="device_host"):
        thread = threading.Thread(target=lambda: seen.append(current()))
        thread.start()
        thread.join()
    assert seen == [Notes()]
