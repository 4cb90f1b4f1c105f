"""The branch for CPUs is chosen, else the default, eagerly and in programs."""

import pytest

import jitney
from jitney.primitives.control.platform import platform_dependent


def add(x):
    return x + 1


def sub(x):
    return x - 1


@pytest.mark.parametrize("wrap", [lambda f: f, jitney.jit])
def test_the_branch_for_cpus_or_the_default(wrap):
    assert wrap(lambda x: platform_dependent(x, tpu=sub, cpu=add))(3) == 4
    assert wrap(lambda x: platform_dependent(x, cpu=add, default=sub))(3) == 4
    assert wrap(lambda x: platform_dependent(x, tpu=add, default=sub))(3) == 2
    assert wrap(jitney.grad(lambda x: platform_dependent(x * x, cpu=add)))(3.0) == 6


def test_no_branch_for_cpus():
    with pytest.raises(
        NotImplementedError, match="neither a branch for platform cpu nor a default"
    ):
        platform_dependent(3, cuda=add)
    text = str(jitney.make_jaxpr(lambda x: platform_dependent(x, cuda=add, default=sub))(3))
    assert "platform_index[" in text
