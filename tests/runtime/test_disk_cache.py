"""Programs that are kept on disk: other processes find them, and damage never gives a wrong answer."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax, random
from jitney.compiler import library, pipeline
from jitney.compiler.codegen import program
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.digest import digest
from jitney.compiler.hlo.ir import Module, Region, TensorType
from jitney.compiler.llvm import binding, engine
from jitney.core.settings import config
from jitney.core.types.avals import shaped_array
from jitney.core.util import thresholds
from jitney.runtime.cache import disk_cache
from jitney.runtime.devices import device
from jitney.runtime.execution.executable import Lowering
from jitney.runtime.native import _loader

pytestmark = pytest.mark.skipif(not _loader.can_load_code(), reason="no loader for this system")

X = np.linspace(-2, 2, 50, dtype=np.float32)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The cache is on, in an empty folder; kernels compiled by other tests are not shared."""
    monkeypatch.setattr(program, "_kernels", program._Kernels())
    with config.enable_compilation_cache(True), config.compilation_cache_dir(str(tmp_path)):
        yield tmp_path


def forget():
    """As in a new process: nothing of compiled functions is left in memory."""
    jitney.clear_caches()
    disk_cache._codes.clear()


def walk(x, key):
    def step(state, _):
        x, key = state
        key, drawn = random.split(key)
        return (x + random.normal(drawn, x.shape), key), x.sum()

    return lax.scan(step, (x, key), None, length=40)


def table(x):
    return jnp.take(jnp.asarray(np.arange(100, dtype=np.float32)), jnp.asarray(np.arange(50))) * x


def filled_gather(x):
    return x.astype("float8_e4m3fn").at[jnp.arange(99)].get(mode="fill", fill_value=2)


PROGRAMS = {
    "elementwise": (lambda x: jnp.sin(x) * 2 + 1, X),
    "several_results": (lambda x: {"a": x.sum(), "b": (x > 0, x.astype("bfloat16"))}, X),
    "constants": (table, X),
    "products": (lambda x: x @ x.T, np.ones((70, 80), np.float32)),
    "gradient": (jitney.grad(lambda x: jnp.sum(jnp.tanh(x @ x))), np.full((40, 40), 0.01, np.float32)),
    "factors": (jnp.linalg.eigh, np.cov(np.random.default_rng(0).normal(size=(20, 99)))),
    "loop": (walk, X, np.array([1, 2], np.uint32)),
    "threads": (lambda x: jnp.exp(x) + 1, np.linspace(0, 1, 1_000_000, dtype=np.float32)),
    "branches": (lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), X),
    "empty": (lambda x: x[:0] + 1, X),
    "no_tangent": (lambda x: jitney.grad(lambda i: x[i].sum(), allow_int=True)(2), X),
    "large_sort": (lambda x: jnp.sort(jnp.sin(x * 1e4)), np.linspace(0, 1, 1000, dtype=np.float32)),
    "general_eigenvalues": (jnp.linalg.eig, np.random.default_rng(0).normal(size=(6, 6))),
    "rare_function": (lambda x: lax.igamma(jnp.exp(x), 2 * jnp.exp(x)), X),
    "region": (lambda x: lax.reduce(x, np.float32(1), lambda a, b: a * 0.5 - b, (0,)), X),
    "narrow_dtype": (lambda x: (x * 3).astype("int4")[::-1].astype("int32"), X),
    "filled_gather": (filled_gather, X),
    "transposed": (lambda x: x.T + 1, np.ones((90, 70), np.float32)),
    "dtypes": (lambda x: [x.astype(d) for d in ("bfloat16", "float16", "bool", "int8", "uint32")], X),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_found_and_give_the_same_bits(name, folder, monkeypatch):
    function, *args = PROGRAMS[name]
    expected = jitney.jit(function)(*args)
    files = {path.suffix for path in folder.glob("jitney-*/*")}
    assert files == {".program", ".object"}
    forget()

    def compile_module(module):
        raise AssertionError("the program is compiled again")

    monkeypatch.setattr(pipeline, "compile_module", compile_module)
    compiled = jitney.jit(function).lower(*args).compile()
    assert "load" in compiled.timings() and "llvm" not in compiled.timings()
    found = jitney.jit(function)(*args)
    jitney.tree.map(
        lambda x, y: np.testing.assert_array_equal(np.asarray(x), np.asarray(y)), found, expected
    )


def test_shared_kernels_call_the_runtime(folder):
    """A kernel in another program's object file, which transposes blocks."""
    x = np.arange(100 * 120, dtype=np.float32).reshape(100, 120)

    def second(x):
        return x.T + 7.25, jnp.sin(x)

    kept = jitney.jit(lambda x: x.T + 7.25).lower(x).compile()
    expected = jitney.jit(second)(x)
    forget()
    del kept
    found = jitney.jit(second)(x)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_kernels_that_programs_share(folder):
    def first(x):
        return jnp.sin(x) * 77.25

    def second(x):
        return jnp.sin(x) * 77.25, jnp.cumsum(x)[::-1] @ x

    kept = jitney.jit(first).lower(X).compile()
    expected = jitney.jit(second)(X)
    forget()
    del kept
    found = jitney.jit(second)(X)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_programs_that_call_python_are_not_kept(folder):
    def function(x):
        return jitney.pure_callback(np.sin, x, x)

    assert jitney.jit(function)(X).shape == X.shape
    assert not list(folder.glob("jitney-*/*.program"))


def test_programs_of_functions_that_are_gone_are_compiled_again(folder, monkeypatch):
    x = np.eye(4, dtype=np.float32)
    pivoted = partial(jitney.lax.linalg.qr, pivoting=True)  # by Python
    expected = jitney.jit(pivoted)(x)
    forget()
    functions = dict(library._functions)
    looked_up = []

    def find(name):
        looked_up.append(name)
        if len(looked_up) == 1:
            raise ValueError(f"unknown library function {name}")
        return functions[name]

    program_of = jitney.jit(pivoted).lower(x)
    monkeypatch.setattr(library, "find", find)
    compiled = program_of.compile()
    assert looked_up[0] == "qr" and "llvm" in compiled.timings()
    for a, b in zip(compiled(x), expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture
def scaling(monkeypatch):
    """The procedures `scaling.*`, in two halves: one begins, the other is waited for."""
    made = []

    def effect(routine):
        made.append(routine.name)
        (_, factor), *_ = routine.params
        if routine.name == "scaling.begin":
            return lambda x, result: result.fill(0)
        return lambda x, result: np.multiply(x, factor, out=result)

    monkeypatch.setattr(library, "_procedures", {**library._procedures, "scaling": effect})
    return made


@pytest.mark.parametrize("beside", [False, True])
def test_procedures_are_found_by_name(beside, folder, scaling, monkeypatch):
    def lowering(factor):
        params = (("factor", factor),)
        b = Builder()
        x = b.parameter(0, TensorType(X.shape, X.dtype))
        (scaled,) = b.host_call(
            "scaled", library.Procedure((library.Routine("scaling.begin", params),)),
            [x], [x.tensor_type], ordered=True, in_place=True,
            finish=library.Procedure((library.Routine("scaling.finish", params),)),
        )  # fmt: skip
        other = b.apply("sin", x) if beside else scaled  # work that the call goes on beside
        module = Module("f", Region((x,), (scaled, other), (scaled.node,)))
        avals = [shaped_array(X.shape, X.dtype)]
        return Lowering(module, avals, avals * 2)

    def results(factor):
        executable = lowering(factor).compile()
        return executable, np.asarray(executable.run([X])[0])

    assert digest(lowering(3.0).module) != digest(lowering(2.0).module)
    first, scaled = results(3.0)
    np.testing.assert_array_equal(scaled, 3 * X)
    assert "llvm" in first.timings and len(first.program.links.procedures) == 1 + beside
    forget()
    second, scaled = results(3.0)
    np.testing.assert_array_equal(scaled, 3 * X)
    assert "llvm" not in second.timings
    assert scaling == ["scaling.begin", "scaling.finish"] * 2

    # Whoever loads a program whose procedures mean nothing here compiles it, and is told why.
    forget()
    monkeypatch.setattr(library, "_procedures", {})
    with pytest.raises(ValueError, match=r"unknown procedure scaling\.begin"):
        lowering(3.0).compile()


def test_the_folder_can_be_chosen(folder, tmp_path, monkeypatch):
    from jitney.experimental.compilation_cache import compilation_cache

    monkeypatch.setattr(config.compilation_cache_dir, "global_value", None)
    compilation_cache.set_cache_dir(tmp_path / "other")
    assert jitney.config.jax_compilation_cache_dir == str(folder)  # for this thread: overridden
    assert config.compilation_cache_dir.global_value == str(tmp_path / "other")
    compilation_cache.reset_cache()


def test_it_can_be_turned_off(folder):
    with config.enable_compilation_cache(False):
        jitney.jit(lambda x: x * 3)(X)
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("module", "attribute", "value"),
    [
        (device, "thread_count", lambda: 97), (thresholds, "ARE_SMALL", not thresholds.ARE_SMALL),
        (disk_cache, "FORMAT", "another"), (np, "__version__", "0.1"),
        (binding, "library_path", lambda: __file__),
    ],
)  # fmt: skip
def test_programs_of_other_machines_are_not_found(module, attribute, value, folder, monkeypatch):
    def files_after_a_call():
        forget()
        monkeypatch.setattr(disk_cache, "_machine_name", None)
        np.testing.assert_array_equal(jitney.jit(lambda x: x * 3 + 1)(X), X * 3 + 1)
        return {*folder.glob("jitney-*/*.program")}

    own = files_after_a_call()
    assert own and files_after_a_call() == own
    with monkeypatch.context() as patch:
        patch.setattr(module, attribute, value)
        assert files_after_a_call() > own


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    match how:
        case "torn":
            path.write_bytes(data[: len(data) // 2])
        case "empty":
            path.write_bytes(b"")
        case "changed":
            middle = len(data) // 2
            path.write_bytes(data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :])
        case "gone":
            path.unlink()
        case "folder":
            path.unlink()
            path.mkdir()


@pytest.mark.parametrize("how", ["torn", "empty", "changed", "gone", "folder"])
@pytest.mark.parametrize("suffix", [".program", ".object"])
def test_damaged_files_are_compiled_again(suffix, how, folder):
    def function(x):
        return jnp.sin(x) * 5 + table(x)

    expected = np.asarray(jitney.jit(function)(X))
    for path in folder.glob(f"jitney-*/*{suffix}"):
        damage(path, how)
    forget()
    np.testing.assert_array_equal(jitney.jit(function)(X), expected)
    if how != "folder":  # which nothing may be written over
        forget()
        assert "load" in jitney.jit(function).lower(X).compile().timings()


def test_places_that_cannot_be_written(folder, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with config.compilation_cache_dir(file):
        np.testing.assert_array_equal(jitney.jit(lambda x: x * 4)(X), X * 4)
        with (
            config.raise_persistent_cache_errors(True),
            pytest.raises(OSError),
        ):
            jitney.jit(lambda x: x * 6)(X)


def test_files_used_least_recently_go(folder):
    for i in range(6):
        jitney.jit(lambda x, i=i: jnp.sin(x) * (i + 0.125))(X)
    files = sorted(folder.glob("jitney-*/*.*"))
    for age, path in enumerate(files):
        os.utime(path, (1e9 + age, 1e9 + age))
    sizes = [512 * path.stat().st_blocks for path in files]
    other = folder / "jitney-notes.txt"
    other.write_text("not ours")
    with config.compilation_cache_max_size(sum(sizes) - 1):
        disk_cache.tidy(str(folder))
    assert [path.exists() for path in files] == [False] + [True] * (len(files) - 1)
    assert other.exists()


def test_digests():
    def of(function, *args):
        return digest(jitney.jit(function).lower(*args)._lowering.module)

    x, y = X, X.astype(np.float64)
    assert of(lambda x: x + 1, x) == of(lambda u: u + 1, x)
    different = [
        of(lambda x: x + 1, x), of(lambda x: x + 2, x), of(lambda x: x - 1, x),
        of(lambda x: x + 1, x[:9]), of(lambda x: (x + 1, x), x), of(lambda x: (x, x + 1), x),
        of(lambda x: x.sum(), x),
        of(lambda x: x + np.arange(50, dtype=np.float32), x), of(lambda x: x[::-1] + 1, x),
        of(lambda x: x + np.arange(1, 51, dtype=np.float32), x), of(lambda x: jnp.cumsum(x), x),
        of(lambda x: lax.fori_loop(0, 3, lambda i, x: x * 2, x), x),
        of(lambda x: lax.fori_loop(0, 4, lambda i, x: x * 2, x), x),
        of(lambda x: lax.fori_loop(0, 4, lambda i, x: x * 3, x), x),
        of(lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), x),
        of(lambda x: lax.cond(x[0] > 0, jnp.cos, jnp.sin, x), x),
        of(lambda x: x.at[2].add(1), x), of(lambda x: x.at[2].mul(1), x),
        of(lambda x: x.at[2].set(1), x),
        of(lambda x: x.reshape(5, 10), x), of(lambda x: x.reshape(10, 5), x),
    ]  # fmt: skip
    with jitney.enable_x64(True):
        different.append(of(lambda x: x + 1, y))
    assert None not in different and len(set(different)) == len(different)
    assert of(lambda x: jitney.pure_callback(np.sin, x, x), x) is None
    large = np.ones(1 << 23, np.float32)
    assert of(lambda x: x[0] + large, x) is None


def test_damaged_object_files_are_refused():
    text = "define i32 @f(i32 %x) {\n  %y = mul i32 %x, 3\n  ret i32 %y\n}\n"
    jitney.jit(lambda x: x + 1)(X)  # sets the loader
    code = engine.load(engine.emit([text])[0], {})
    data = code.data
    assert data is not None and code.address("f")
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(3000):
        broken = bytearray(data)
        for _ in range(rng.integers(1, 6)):
            broken[rng.integers(0, len(data))] = rng.integers(0, 256)
        try:
            engine.load(bytes(broken[: rng.integers(0, len(data) + 1)]), {})
        except ValueError as error:
            assert "machine code" in str(error)
            refused += 1
    assert refused > 1000
    with pytest.raises(ValueError, match="a symbol is not known"):
        call = (
            "declare i32 @jitney.nowhere()\ndefine i32 @g() {\n  %y = call i32 @jitney.nowhere()\n"
        )
        engine.load(engine.emit([call + "  ret i32 %y\n}\n"])[0], {})


SCRIPT = """
import json, sys, threading
import jitney, jitney.numpy as jnp
f = jitney.jit(FUNCTION)
compiled = f.lower(jnp.arange(10.0)).compile()
with open("/proc/self/maps") as file:
    loaded = "libllvmlite" in file.read()
names = [t.name for t in threading.enumerate()]
print(json.dumps([float(compiled(jnp.arange(10.0))), list(compiled.timings()), loaded, names]))
"""


def environment_for(folder):
    options = {"JITNEY_ENABLE_COMPILATION_CACHE": "1", "JAX_COMPILATION_CACHE_DIR": str(folder)}
    return {**os.environ, **options}


def script(function):
    return SCRIPT.replace("FUNCTION", function)


def run(folder, function):
    command = [sys.executable, "-c", script(function)]
    environment = environment_for(folder)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "function, expected",
    [
        ("lambda x: jnp.sin(x).sum()", np.sin(np.arange(10)).sum()),
        ("lambda x: jnp.sort(jnp.tile(x, 100))[505]", 5),
        ("lambda x: jnp.abs(jnp.linalg.eig(jnp.outer(x, x) + jnp.eye(10))[0]).max()", 286),
        ("lambda x: jnp.linalg.svd(jnp.outer(x, x))[1].max()", 285),
    ],
)
def test_a_second_process_does_not_load_llvm(function, expected, tmp_path):
    value, stages, loaded, _ = run(tmp_path, function)
    assert "llvm" in stages and loaded
    again, stages, loaded, names = run(tmp_path, function)
    assert again == value == pytest.approx(expected, rel=1e-5)
    assert "load" in stages and not loaded and "jitney-preload" not in names


def test_processes_that_write_at_once(tmp_path):
    environment = environment_for(tmp_path)
    command = [sys.executable, "-c", script("lambda x: jnp.sin(x).sum()")]
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(4)]
    values = {json.loads(p.communicate()[0])[0] for p in running}
    assert len(values) == 1
    assert all(path.suffix in (".program", ".object") for path in tmp_path.glob("jitney-*/*"))
