"""Programs in other forms can be made, and are refused when they are compiled."""

import pytest

from jitney.core.diagnostics.errors import JaxRuntimeError
from jitney.extend.ifrt_programs import ifrt_programs
from jitney.runtime.devices.client import host_client


@pytest.mark.parametrize(
    "make, options, form",
    [
        (ifrt_programs.make_hlo_program, ifrt_programs.make_xla_compile_options, "HLO"),
        (ifrt_programs.make_plugin_program, ifrt_programs.make_plugin_compile_options, "plugin"),
    ],
)
def test_programs_of_other_forms(make, options, form):
    program = make(b"text")
    assert isinstance(program, ifrt_programs.Program)
    assert (program.form, program.text) == (form, b"text")
    assert program == make(b"text") != make("other")
    with pytest.raises(JaxRuntimeError, match=f"{form} programs are for other runtimes"):
        host_client().compile_ifrt_program(program, options())
