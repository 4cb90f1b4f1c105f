"""Processes that programs under the alias start: what `import jax` gives there."""

import os
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import multiprocessing, os, pickle, subprocess, sys, warnings
    from concurrent.futures import ProcessPoolExecutor

    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    import numpy as np
    import jax, jax.numpy as jnp

    def work(x):
        assert jax.__name__ == "jax" and jnp is sys.modules["jitney.numpy"]
        return float(jax.jit(lambda x: jnp.sum(x * x))(x)), os.getpid(), sys.argv[1:]

    def nested(method):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
            return pool.submit(work, np.ones(2)).result(60)[0]

    def main(method):
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            results = pool.map_async(work, [np.full(k, 2.0) for k in range(4)]).get(60)
            assert [value for value, _, _ in results] == [0, 4, 8, 12]
            assert all(pid != os.getpid() and rest == [method] for _, pid, rest in results)
            # Functions of the package go by their names in jax.
            assert pool.map_async(jnp.where, [np.ones(2)]).get(60)[0][0].shape == (2,)
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            assert pool.submit(work, np.ones(3)).result(60)[0] == 3
            assert pool.submit(nested, method).result(60) == 2

    if __name__ == "__main__":
        main(sys.argv[1])
        print("done")
"""


def run(*words, code=PROGRAM, folder=None, python=sys.executable):
    command = [python, "-m", "jitney", *words]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=200, env=environment()
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment():
    source = os.path.dirname(os.path.dirname(os.path.abspath(__import__("jitney").__file__)))
    return {**os.environ, "PYTHONPATH": source}


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    return path


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_pools_of_a_script(method, program):
    assert run(str(program), method) == "done\n"


def test_pools_of_a_module(program):
    package = program.parent / "package"
    package.mkdir()
    (package / "__init__.py").write_text("import jax\n")
    program.rename(package / "program.py")
    assert run("-m", "package.program", "spawn", folder=program.parent) == "done\n"


def test_pools_of_a_program_that_installs_the_alias(program):
    text = "import jitney\njitney.install_as_jax()\n" + program.read_text()
    program.write_text(text)
    done = subprocess.run(
        [sys.executable, str(program), "spawn"],
        capture_output=True, text=True, timeout=200, env=environment(),
    )  # fmt: skip
    assert done.stdout == "done\n", done.stderr


def test_modules_that_only_children_import(tmp_path):
    (tmp_path / "helper.py").write_text(
        "import jax\ndef name():\n    return jax.numpy.__spec__.name\n"
    )
    code = """
    import sys
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context
    import helper
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        print(pool.submit(helper.name).result(60))
    """
    assert run("-c", textwrap.dedent(code), folder=tmp_path) == "jitney.numpy\n"


def test_modules_that_a_forkserver_loads(tmp_path):
    (tmp_path / "helper.py").write_text("import os, jax\npid = os.getpid()\n")
    code = """
    import multiprocessing, os
    def work():
        import helper
        return helper.pid == os.getppid(), helper.jax.numpy.__spec__.name
    if __name__ == "__main__":
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["__main__", "helper"])
        with context.Pool(1) as pool:
            print(pool.apply_async(work).get(60))
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(code))
    search = os.pathsep.join([environment()["PYTHONPATH"], str(tmp_path)])
    done = subprocess.run(
        [sys.executable, "-m", "jitney", "program.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=100,
        env={**os.environ, "PYTHONPATH": search},
    )  # fmt: skip
    assert done.stdout == "(True, 'jitney.numpy')\n", done.stderr


def test_other_subprocesses_are_left_alone():
    code = """
    import pickle, subprocess, sys
    assert type(pickle.loads(pickle.dumps(sys.path))[0]) is str
    command = "import sys; print([f for f in sys.meta_path if 'jitney' in f.__class__.__module__])"
    print(subprocess.run([sys.executable, "-c", command], capture_output=True, text=True).stdout)
    """
    assert run("-c", textwrap.dedent(code)) == "[]\n\n"


def test_joblib(tmp_path):
    pytest.importorskip("joblib")
    code = """
    import joblib, jax, jax.numpy as jnp
    if __name__ == "__main__":
        work = joblib.delayed(lambda k: float(jax.jit(lambda x: jnp.sum(x * k))(jnp.arange(3.0))))
        print(joblib.Parallel(2, timeout=100)(work(k) for k in range(3)))
    """
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(code))
    assert run(str(path)) == "[0.0, 3.0, 6.0]\n"
