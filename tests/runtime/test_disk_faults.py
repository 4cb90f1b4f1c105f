"""What can happen to the folder of compiled programs; `disk_faults` has the faults."""

import inspect
import os
import sys

import pytest
from tests.runtime import disk_faults

import jitney
from jitney.compiler.codegen import program
from jitney.runtime.compilation import compiling
from jitney.runtime.native import _loader

pytestmark = [
    pytest.mark.skipif(not _loader.can_load_code(), reason="no loader for this system"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    # Real jax warns of forks, where another test has loaded it.
    pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning"),
]


@pytest.mark.parametrize("name", disk_faults.FAULTS)
def test_faults(name, monkeypatch):
    monkeypatch.setattr(program, "_kernels", program._Kernels())
    monkeypatch.setattr(
        compiling, "MAX_CONSTANT_BYTES", -1
    )  # programs are looked for on disk alone
    jitney.clear_caches()  # of equal programs that other tests have compiled
    fault = disk_faults.FAULTS[name]
    few = {"step": 101} if "step" in inspect.signature(fault).parameters else {}
    with disk_faults.folder() as place, disk_faults.cache(place):
        tries = fault(**few)
    if not tries:
        pytest.skip(f"{sys.platform}: for root, with the right to mount disks")
