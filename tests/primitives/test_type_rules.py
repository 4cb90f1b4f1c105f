"""Type rules are memoised without the settings: none may read one."""

import dis
from types import CodeType, FunctionType, ModuleType

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.experimental.sparse  # declares primitives
from jitney.core.settings import config, options
from jitney.core.tracing.primitive import registry
from jitney.primitives import load_all

load_all.load()
MODULES = (config.__name__, options.__name__)


def globals_read(function):
    """What `function` names: its globals, attributes of modules and variables it closes over."""
    codes = [function.__code__]
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    while codes:
        code = codes.pop()
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
        value = None
        for step in dis.get_instructions(code):
            if step.opname == "LOAD_GLOBAL":
                value = function.__globals__.get(step.argval)
            elif step.opname == "LOAD_DEREF" and step.argval in cells:
                value = cells[step.argval].cell_contents
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, ModuleType):
                value = getattr(value, step.argval, None)
            else:
                value = None
            if value is not None:
                yield value


def settings_reached(rule):
    """The chain of functions by which `rule` comes to a setting; None if there is none."""
    waiting, seen = [(rule, ())], set()
    while waiting:
        value, chain = waiting.pop()
        if isinstance(value, options.State) or getattr(value, "__module__", "") in MODULES:
            return [*chain, value]
        if isinstance(value, (list, tuple)):
            waiting += [(inner, chain) for inner in value]
            continue
        value = getattr(value, "__wrapped__", value)
        value = getattr(value, "func", value)  # of a partial function
        if not isinstance(value, FunctionType) or value in seen:
            continue
        if value.__globals__["__name__"].startswith("jitney."):
            seen.add(value)
            waiting += [(inner, (*chain, value.__qualname__)) for inner in globals_read(value)]
    return None


@pytest.mark.parametrize("name", sorted(registry))
def test_no_type_rule_reads_a_setting(name):
    assert settings_reached(registry[name].abstract_rule) is None


def test_settings_are_found():
    assert settings_reached(jitney.lax.mul) is not None
    assert settings_reached(jitney.lax.argmax) is not None


def typed(x):
    return x.dtype, x.aval.dtype, np.asarray(x).dtype


@pytest.mark.parametrize(
    "program",
    [
        lambda j: j.lax.empty((3,), np.float64),
        lambda j: j.jit(lambda: j.lax.empty((3,), np.float64))(),
        lambda j: j.lax.mul(np.float32(2), np.float32(3), out_dtype=np.float64),
        lambda j: j.jit(lambda x: j.lax.mul(x, x, out_dtype=np.int64))(np.float32(3)),
    ],
)
def test_types_follow_the_settings(program):
    for x64 in (False, True, False):
        with jitney.enable_x64(x64):
            assert typed(program(jitney)) == of_jax(lambda j: typed(program(j)), x64=x64)
