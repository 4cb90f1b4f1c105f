"""IPython and Jupyter's kernels under the alias; skipped where they are not installed."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import textwrap

import pytest

needs_ipython = pytest.mark.skipif(
    importlib.util.find_spec("IPython") is None, reason="IPython is not installed"
)
needs_kernel = pytest.mark.skipif(
    importlib.util.find_spec("ipykernel") is None, reason="ipykernel is not installed"
)


def environment(tmp_path):
    import jitney

    source = os.path.dirname(os.path.dirname(os.path.abspath(jitney.__file__)))
    return {**os.environ, "PYTHONPATH": source, "IPYTHONDIR": str(tmp_path / "ipython")}


def run(command, tmp_path, **options):
    done = subprocess.run(
        command, env=environment(tmp_path), capture_output=True, text=True, timeout=120, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_ipython
@pytest.mark.parametrize("how", ["code", "file", "prompt"])
def test_ipython(how, tmp_path):
    program = "import jax, jax.numpy as jnp\n%time x = jax.jit(lambda x: x * 2)(jnp.arange(3))\nx\n"
    words, text = [], ""
    match how:
        case "code":
            words = ["-c", program]
        case "file":
            (tmp_path / "program.ipy").write_text(program.replace("\nx\n", "\ndisplay(x)\n"))
            words = [str(tmp_path / "program.ipy")]
        case "prompt":
            words, text = ["--simple-prompt"], program + "exit\n"
    command = [sys.executable, "-m", "jitney", "-m", "IPython", "--no-banner", *words]
    assert "Array([0, 2, 4], dtype=int32)" in run(command, tmp_path, input=text)


@needs_ipython
def test_misspelt_names_in_ipython(tmp_path):
    program = "import jax.numpy as jnp\njnp.sqroot\n"
    words = ["-m", "IPython", "--no-banner", "--simple-prompt", "--colors=NoColor"]
    done = subprocess.run(
        [sys.executable, "-m", "jitney", *words], input=program + "exit\n", text=True, timeout=120,
        env=environment(tmp_path), capture_output=True,
    )  # fmt: skip
    shown = done.stdout + done.stderr
    assert shown.count("has no attribute 'sqroot'. Did you mean: 'sqrt'?") == 1, shown


@needs_ipython
@pytest.mark.parametrize("mode", ["off", "auto", "tracebackhide"])
def test_tracebacks_in_ipython(mode, tmp_path):
    program = "import jax.numpy as jnp\njnp.ones((2, 3)) @ jnp.ones((2, 3))\n"
    words = ["-m", "IPython", "--no-banner", "--simple-prompt", "--colors=NoColor"]
    done = subprocess.run(
        [sys.executable, "-m", "jitney", *words], input=program + "exit\n", text=True, timeout=120,
        env={**environment(tmp_path), "JAX_TRACEBACK_FILTERING": mode}, capture_output=True,
    )  # fmt: skip
    text = done.stdout + done.stderr
    assert "TypeError" in text and "@ jnp.ones((2, 3))" in text
    assert (f"jitney{os.sep}numpy" in text) == (mode == "off"), text
    # IPython shows the innermost of the frames that are marked.
    assert (f"jitney{os.sep}primitives" in text) == (mode != "auto"), text


# Drives a kernel; prints, for each cell, its status and what it showed.
DRIVER = """
import json, sys
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

manager = KernelManager()
manager._kernel_spec = KernelSpec(argv=json.loads(sys.argv[1]), display_name="", language="python")
manager.start_kernel()
client = manager.blocking_client()
client.start_channels()
client.wait_for_ready(timeout=60)
for cell in json.loads(sys.argv[2]):
    shown = []

    def show(message):
        content = message["content"]
        shown.extend(content.get("traceback", []))
        shown.append(content.get("text", "") + content.get("data", {}).get("text/plain", ""))
        shown.append(content.get("data", {}).get("text/html", ""))

    reply = client.execute_interactive(cell, timeout=60, output_hook=show)
    print(json.dumps([reply["content"]["status"], "".join(shown)]))
client.stop_channels()
manager.shutdown_kernel(now=True)
"""

CELLS = [
    "import jax, jax.numpy as jnp, os",
    "jax.jit(lambda x: x + 1)(jnp.ones(2))",
    "print(jax.grad(jnp.sin)(0.0))",
    "jnp.ones(3) + jnp.ones(4)",
    "%timeit -n1 -r1 jnp.ones(3) * 2",
    textwrap.dedent("""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        print(pool.submit(jnp.where, jnp.ones(2)).result(60)[0].sum())
    """),
]


@needs_kernel
@pytest.mark.parametrize("how", ["alias", "install_as_jax"])
def test_kernels(how, tmp_path):
    words = ["-m", "jitney"] if how == "alias" else []
    first = [] if words else ["import jitney; jitney.install_as_jax()"]
    kernel = [sys.executable, *words, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    command = [sys.executable, "-c", DRIVER, json.dumps(kernel), json.dumps(first + CELLS)]
    shown = [json.loads(line) for line in run(command, tmp_path).splitlines()]
    status, colored = zip(*shown[len(first) :], strict=True)
    text = [re.sub(r"\x1b\[[0-9;]*m", "", part) for part in colored]
    assert status == ("ok", "ok", "ok", "error", "ok", "ok"), shown
    assert text[1] == "Array([2., 2.], dtype=float32)"
    assert text[2] == "1.0\n"
    assert "TypeError: jnp.ones(3) + jnp.ones(4): the shapes" in text[3]
    assert "per loop" in text[4]
    assert text[5] == "1\n"


LONG = textwrap.dedent("""
    import jitney, jitney.numpy as jnp
    from jitney.core.settings import compile_progress
    compile_progress.DELAY = compile_progress.INTERVAL = 0.01
    def chain(x):
        for i in range(300):
            x = jnp.sin(x[::-1]) + i
        return x
    print(jitney.jit(chain)(jnp.ones(30)).shape)
""")


@needs_kernel
def test_long_compilations_show_a_bar(tmp_path):
    kernel = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    command = [sys.executable, "-c", DRIVER, json.dumps(kernel), json.dumps([LONG])]
    [(status, text)] = [json.loads(line) for line in run(command, tmp_path).splitlines()]
    assert status == "ok"
    assert "</progress> compiling chain: " in text and text.endswith("(30,)\n")
