"""Several devices, arrays on them and over them: jitney finds what jax does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers.programs_alike import printed, printed_by_jax, started

PROGRAM = Path(__file__).parent / "on_devices.py"


def _by_name(lines):
    return dict(line.split(": ", 1) for line in lines if ": " in line)


def test_everything_is_where_jax_puts_it():
    ours = _by_name(printed(started(PROGRAM, "jitney")))
    theirs = _by_name(printed_by_jax(PROGRAM, "jax"))
    assert ours.keys() == theirs.keys()
    wrong = [name for name in ours if ours[name] != theirs[name]]
    assert not wrong, "\n".join(f"{name}\n  {ours[name]}\n  {theirs[name]}" for name in wrong)


def _run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", f"import jitney as jax, jitney.numpy as jnp\n{code}"],
        capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    return done.stdout + done.stderr.strip().rpartition("\n")[2]


@pytest.mark.parametrize(
    ("code", "environment", "found"),
    [
        ("print(jax.device_count())", {}, "1\n"),
        ("print(jax.device_count())", {"JAX_NUM_CPU_DEVICES": "3"}, "3\n"),
        (
            "jax.config.update('jax_num_cpu_devices', 2); print(len(jax.devices()))",
            {"JAX_NUM_CPU_DEVICES": "3"},
            "2\n",
        ),
        (
            "import os; os.environ['XLA_FLAGS'] = '--a=1 --xla_force_host_platform_device_count=5'; "
            "print(len(jax.devices()))",
            {},
            "5\n",
        ),
        (
            "print([d.pool.threads for d in jax.devices()])",
            {"JAX_NUM_CPU_DEVICES": "4", "JITNEY_NUM_THREADS": "6"},
            "[1, 2, 1, 2]\n",
        ),
        (
            "print([d.pool.threads for d in jax.devices()])",
            {"JAX_NUM_CPU_DEVICES": "3", "JITNEY_NUM_THREADS": "2"},
            "[1, 1, 1]\n",
        ),
    ],
)
def test_settings_say_how_many_devices_there_are(code, environment, found):
    assert _run(code, **environment) == found


def test_the_number_of_devices_is_settled_by_the_first_array():
    said = _run("jnp.ones(3); jax.config.update('jax_num_cpu_devices', 2)")
    assert "jax_num_cpu_devices can be set only before" in said


@pytest.mark.parametrize(("platforms", "works"), [("gpu", False), ("gpu,cpu", True), ("", True)])
def test_platforms_must_include_the_cpu(platforms, works):
    said = _run("print(jnp.ones(3).sum())", JAX_PLATFORMS=platforms)
    assert (said == "3.0\n") if works else "jax_platforms is 'gpu', but the only platform" in said
    said = _run(f"jax.config.update('jax_platforms', {platforms!r}); print(jax.jit(lambda: 3)())")
    assert (said == "3\n") if works else "jax_platforms is 'gpu', but the only platform" in said


def test_the_option_goes_before_the_flag():
    said = _run(
        "print(jax.device_count())",
        JAX_NUM_CPU_DEVICES="3",
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
    )
    assert said == "3\n"


def test_errors_of_devices_go_on():  # jax refuses both
    code = """
from jitney.experimental import checkify
from jitney.sharding import PartitionSpec as P
mesh = jax.make_mesh((4,), ("i",))
rows = jnp.arange(4.0)

def loop(x):
    return jax.lax.fori_loop(0, 2, lambda i, c: c / (c - i), x)

for f in (lambda x: 1 / x, loop):
    on_parts = jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    for rest in (lambda x: 1 / (x - 1), lambda x: x):
        error, _ = checkify.checkify(lambda x: rest(on_parts(x)), errors=checkify.all_checks)(rows)
        print(error.code.shape, [line.rpartition(": ")[2] for line in error.get().splitlines()])
"""
    divided = "division by zero"
    assert _run(code, JAX_NUM_CPU_DEVICES="4").splitlines() == [
        f"() {[divided]}",
        f"(4,) {[divided]}",
        f"() {[divided]}",
        f"(4,) {[divided] * 4}",
    ]
