"""`jitney simulate`: what programs would take on meshes of any size."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.cli import simulate
from jitney.compiler import pipeline
from jitney.compiler.plan.estimate import Machine, estimate
from jitney.sharding import AbstractMesh, NamedSharding, PartitionSpec as P

MACHINE = Machine(latency=1.0, bandwidth=8.0, operations=64.0, memory=1e9)
PROGRAM = """
    import sys
    import jax, jax.numpy as jnp
    from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

    mesh = AbstractMesh((2, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    place = NamedSharding(mesh, P("data", "model"))
    x = jax.ShapeDtypeStruct((4096, 4096), jnp.float32, sharding=place)
    jax.jit(lambda x: x @ x).lower(x)
    jax.jit(lambda x: x + 1).lower(jnp.ones(3))
    print(sys.argv[1:])
"""


def lower(function, shape, *spec):
    place = NamedSharding(AbstractMesh((2,), ("x",)), P(*spec))
    x = jitney.ShapeDtypeStruct(shape, jnp.float32, sharding=place)
    return jitney.jit(function).lower(x).compiler_ir()


def estimated(module, specs, n):
    """What the program of one of n devices takes."""
    divided = pipeline.partition(module, specs, {"x": n}).module
    return estimate(pipeline.plan(pipeline.optimize(divided)).steps, MACHINE)


def test_command(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))

    command = [sys.executable, "-m", "jitney", "simulate", "--mesh", "64x16", "--latency=1e-3"]
    done = subprocess.run([*command, path, "word"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "<lambda> over data=64, model=16: 1024 devices"
    assert lines[-1] == "['word']" and len([line for line in lines if " over " in line]) == 1
    assert any(line.startswith("  memory      ") for line in lines)


def test_programs_without_a_mesh_are_told_what_is_simulated(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import jax\njax.jit(lambda x: x + 1)(1.0)\n")
    command = [sys.executable, "-m", "jitney", "simulate", path, "--mesh", "4x4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 1
    assert "program.py lowered nothing for arguments on a mesh" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["program.py"], "--mesh is needed"), (["--mesh", "axb", "p.py"], "--mesh takes positive"),
        (["--mesh"], "--mesh needs a value"), (["--mesh", "2x2"], "a program is needed"),
        (["--mesh", "2", "--latency", "-1", "p.py"], "--latency takes positive numbers"),
        (["--speed", "2", "p.py"], "unknown option --speed"),
    ],
)  # fmt: skip
def test_wrong_words(words, message, capsys):
    assert simulate.main(words) == 2
    assert message in capsys.readouterr().err


def test_help(capsys):
    assert simulate.main(["--help"]) == 0
    assert capsys.readouterr().out == simulate.USAGE


def test_extents_are_those_of_the_programs_axes():
    module = lower(lambda x: x * 2, (8,), "x")
    with pytest.raises(
        ValueError, match="--mesh has 2 sizes, but the program's mesh has the axes x"
    ):
        simulate.simulate(module, [(("x",),)], {"x": 2}, simulate.Options((2, 2), MACHINE))


def test_time_of_messages_and_operations():
    module = lower(lambda x: lax.fori_loop(0, 3, lambda i, c: c + (x * c).sum(), 0.0), (8,), "x")
    found = estimated(module, [(("x",),)], 4)
    (message,) = found.messages
    assert (message.times, message.bytes) == (3, 3 * 6)
    assert message.seconds == 3 * (6 * 1.0 + 6 / 8.0) == found.sending
    assert found.loops == 0 and found.computing == pytest.approx(found.operations / 64)


def test_products_and_loops_of_unknown_length():
    module = lower(lambda x: lax.while_loop(lambda c: c.sum() < 9, lambda c: c @ c, x), (8, 8))
    found = estimated(module, [((), ())], 2)
    assert found.loops == 1 and not found.messages
    assert found.operations >= 2 * 8**3
    assert np.isclose(found.computing, found.operations / 64)


def test_text():
    module = lower(lambda x: x.sum(0), (16, 1000), "x")
    text = simulate.simulate(module, [(("x",), ())], {"x": 2}, simulate.Options((8,), MACHINE))
    assert text.splitlines()[0].endswith(" over x=8: 8 devices")
    assert "operands 8.00 kB, results 4.00 kB, temporary" in text
    assert text.splitlines()[-1].split() == [
        "all_reduce", "x", "float32[1000]", "1", "7.00", "kB", "889", "s",
    ]  # fmt: skip
