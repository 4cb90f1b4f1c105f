"""Profiles: what the clocks count, what the tables say, and that programs are left as they were."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.cli import command
from jitney.compiler import pipeline
from jitney.compiler.plan import ir
from jitney.compiler.plan.clocks import with_clocks
from jitney.compiler.plan.text import print_plan
from jitney.inspection import facts, timing

CHROMIUM = next((c for c in ("chromium", "google-chrome") if shutil.which(c)), None)

X, W = np.ones((400, 300), np.float32), np.ones((300, 200), np.float32)


def layer(x, w):
    z = x @ w
    return jnp.tanh(z) - z.mean(0)


def looping(x):
    def body(c, _):
        c = jnp.tanh(c @ c.T)
        return c, c.sum()

    return jax.lax.scan(body, x, None, length=7)


def test_steps_are_counted_and_results_are_the_same():
    expected = jax.jit(layer)(X, W)
    with jax.profile() as p:
        f = jax.jit(layer)
        for _ in range(3):
            result = f(X, W)
    np.testing.assert_array_equal(np.asarray(result), np.asarray(expected))
    assert {step.times for step in p.steps} == {3}
    assert {step.program.name for step in p.steps} == {"layer"}
    (product,) = [step for step in p.steps if step.work.kind == "product"]
    assert product.work.flops == 2 * 400 * 300 * 200
    assert product.seconds > 0
    line = layer.__code__.co_firstlineno + 1
    assert (__file__, line) in p.by_line()


def test_loops_are_timed_step_by_step():
    with jax.profile() as p:
        jax.jit(looping)(np.ones((100, 100), np.float32))
    timed = [(step.work.kind, step.times) for step in p.steps]
    assert ("product", 7) in timed
    assert ("loop", 1) in timed


def test_short_loops_have_one_clock():
    def counting(x):
        def step(i, c):
            return jax.lax.optimization_barrier(c * 1.1 + i)

        return jax.lax.fori_loop(0, 100, step, x)

    with jax.profile() as p:
        jax.jit(counting)(np.ones(4, np.float32))
    assert [step.times for step in p.steps] == [1] * len(p.steps)


def stepping(x):
    def body(c, _):
        c = jnp.cumsum(c)
        return c[::-1] - c.mean(), None

    return jax.lax.scan(body, x, None, length=2000)


STEPPING = stepping.__code__.co_firstlineno


def test_lines_of_a_loop_with_one_clock_share_its_time():
    with jax.profile() as p:
        jax.jit(stepping)(np.ones(8, np.float32))
    (loop,) = [step for step in p.steps if step.work.kind == "loop"]
    seconds = {line - STEPPING: s for (_, line), s in p.by_line().items()}
    assert set(seconds) == {2, 3, 5}
    assert min(seconds[2], seconds[3]) == pytest.approx(loop.seconds / 3, rel=1e-6)
    assert sum(seconds.values()) <= p.running * 1.001


def test_a_copy_before_a_loop_is_not_of_the_lines_within():
    program = facts.of_module(facts.lowered_module(stepping, (np.ones(8, np.float32),), {}))
    copies = [work for work in program.work if work.kind == "copy"]
    assert copies
    assert {s.line - STEPPING for work in copies for s in work.sources} == {5}


def test_times_add_up():
    with jax.profile() as p:
        jax.jit(layer)(X, W)
        time.sleep(0.2)
    parts = (p.tracing, p.lowering, p.compiling, p.running, p.python)
    assert all(part >= 0 for part in parts)
    assert sum(parts) == pytest.approx(p.seconds)
    assert 0.2 <= p.python <= p.seconds
    assert sum(p.by_line().values()) <= p.running * 1.001


def test_nested_traces_count_once():
    inner = jax.jit(lambda x: jnp.sin(x) * 2)

    @jax.jit
    def outer(x):
        for _ in range(30):
            x = jax.jit(lambda y: inner(y) + 1)(x)
        return x

    with jax.profile() as p:
        outer(X)
    assert 0 < p.tracing + p.lowering + p.compiling <= p.seconds


def test_programs_are_left_without_clocks():
    f = jax.jit(layer)
    f(X, W)
    with jax.profile() as p:
        f(X, W)
    count = p.steps[0].times
    f(X, W)
    assert f._cache_size() == 1
    with jax.profile() as again:
        pass
    assert not again.steps
    assert p.steps[0].times == count


def test_errors_pass_and_end_the_profile():
    with pytest.raises(ZeroDivisionError), jax.profile() as p:
        jax.jit(layer)(X, W)
        raise ZeroDivisionError
    assert p.steps
    with jax.profile(), pytest.raises(RuntimeError, match="one at a time"), jax.profile():
        pass


def test_tables():
    with jax.profile() as p:
        jax.jit(layer)(X, W)
    text = str(p)
    assert re.search(r"^[\d.]+ m?s in all:", text)
    assert "compilation" in text
    line = layer.__code__.co_firstlineno + 1
    assert f"layer, test_profile.py line {line}: 400x300 @ 300x200 by BLAS" in text
    assert f"test_profile.py:{line}" in text
    _, by_line, by_peak = re.split(r"\n +(?:time  share  line|peak  .* values by line)\n", text)
    assert by_line.rstrip().endswith(("z = x @ w", "return jnp.tanh(z) - z.mean(0)"))
    assert by_peak.rstrip().endswith(" of memory at its peak.")


def test_peak_of_memory():
    with jax.profile() as p:
        f = jax.jit(layer)
        f(X, W), f(X, W)
    (function,) = p.functions
    assert function.calls == 2
    line = layer.__code__.co_firstlineno + 1
    peak = p.peak_by_line()
    assert peak[__file__, line] == 400 * 200 * 4  # z
    head, own, *_ = str(p).split("temporary values by line\n")[1].splitlines()
    sizes = r"1.36 MB at most: 720 kB of arguments, 320 kB of results, 32\d kB of temporary values"
    assert re.fullmatch(f"  layer: {sizes}", head)
    assert own.startswith(f"   320 kB  test_profile.py:{line}")
    assert p.peak_bytes > 1_000_000


def test_page(tmp_path):
    with jax.profile() as p:
        jax.jit(layer)(X, W)
        jax.jit(looping)(np.ones((100, 100), np.float32))
    text = p.save(tmp_path / "page.html").read_text()
    assert not re.search(r"https?://|src=|@import|url\(", text)
    assert "layer #1</td>" in text
    assert "400x300 @ 300x200 by BLAS" in text
    line = layer.__code__.co_firstlineno + 1
    (row,) = re.findall(rf"<tr[^>]*>(?:(?!<tr).)*<td class=number>{line}</td>(.*?)</tr>", text)
    assert row.endswith("z = x @ w</td>")
    assert "--part:" in row
    assert 'class="roofline"' in text
    assert re.search(
        r"temporary values in memory at the peak of a function: \d+ kB in layer, ", text
    )
    assert "Click a heading to sort." in text
    assert p._repr_html_().startswith("<iframe srcdoc=")


def test_programs_without_compiled_functions_are_told_how_to_have_some():
    with jax.profile() as p:
        jnp.sort(jnp.ones(3))
    assert "No compiled function ran: all operations ran in eager mode." in str(p)


def test_functions_of_one_name_are_told_apart_by_their_arguments():
    f = jax.jit(lambda x: (jnp.sin(x) @ jnp.cos(x)).sum())
    with jax.profile() as p:
        f(jnp.ones((20, 20))), f(jnp.ones((30, 30)))
    assert "<lambda>(float32[20,20]): " in str(p) and "<lambda>(float32[30,30]): " in str(p)


def test_page_of_nothing():
    with jax.profile() as p:
        pass
    assert "No compiled function ran." in p.html()


@pytest.mark.skipif(CHROMIUM is None, reason="a browser draws the page")
def test_a_browser_draws_the_page(tmp_path):
    with jax.profile() as p:
        jax.jit(layer)(X, W)
    file = tmp_path / "page.html"
    actions = """<script>
    document.querySelector("#steps + * ~ * [data-sort='0']").click();
    document.querySelector(".dot").dispatchEvent(new MouseEvent("click", {bubbles: true}));
    document.title = `${document.querySelectorAll(".source .lit").length} lit`;
    </script></body>"""
    file.write_text(p.html().replace("</body>", actions))
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         "--virtual-time-budget=2000", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr
    assert "<title>1 lit</title>" in done.stdout
    assert 'aria-sort="descending"' in done.stdout


def _inside(outer, inner):
    return outer["ts"] <= inner["ts"] and (
        inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 1e-3
    )


def test_timeline(tmp_path):
    with jax.profile(timeline=True) as p:
        f = jax.jit(looping)
        for _ in range(2):
            f(np.ones((100, 100), np.float32))
    events = json.loads(p.save_timeline(tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert any(event["name"].endswith("backend_compile_duration") for event in spans)
    calls = [event for event in spans if event["name"] == "looping"]
    loops = [event for event in spans if event["name"] == "loop of 7 iterations"]
    products = [event for event in spans if event["name"] == "100x100 @ 100x100 by BLAS"]
    assert (len(calls), len(loops), len(products)) == (2, 2, 14)
    for call, loop in zip(calls, loops, strict=True):
        assert _inside(call, loop)
        assert sum(_inside(loop, product) for product in products) == 7
    line = looping.__code__.co_firstlineno + 2
    assert products[0]["args"]["lines"] == f"test_profile.py line {line}"
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    assert names[calls[0]["tid"]] == "compiled looping"
    total = sum(event["dur"] for event in calls) / 1e6
    assert total == pytest.approx(p.running, rel=0.01)


def test_timeline_keeps_the_first_events():
    module = jax.jit(looping).lower(np.ones((100, 100), np.float32))._lowering.module
    clocked = with_clocks(pipeline.plan(pipeline.optimize(module)), most_events=10)
    timing.of_calls(clocked, [np.ones((100, 100), np.float32)])
    assert clocked.events is not None
    assert clocked.events[0] > 10
    looks = clocked.events[1:].reshape(10, 2)
    assert looks[0, 0] == -1
    assert (np.diff(looks[:9, 1]) >= 0).all()


def test_sums_have_no_timeline(tmp_path):
    with jax.profile() as p:
        pass
    with pytest.raises(ValueError, match="timeline=True"):
        p.save_timeline(tmp_path / "trace.json")


def test_traces_have_the_steps(tmp_path):
    with jax.profiler.trace(tmp_path), jax.profile():
        jax.jit(layer)(X, W)
    (file,) = tmp_path.rglob("*.trace.json.gz")
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    assert "400x300 @ 300x200 by BLAS" in [event["name"] for event in events]
    assert "compiled layer" in [event["args"]["name"] for event in events if event["ph"] == "M"]


def test_text_of_a_plan_with_clocks():
    module = jax.jit(layer).lower(X, W)._lowering.module
    clocked = with_clocks(pipeline.plan(pipeline.optimize(module)))
    text = print_plan(clocked.plan)
    assert text.splitlines()[1] == "  clock -1"
    assert text.count("  clock ") == 1 + len(clocked.steps)
    assert not any(isinstance(step, ir.Clock) for step in clocked.original.steps)


def test_command(tmp_path: Path, jitney_command):
    program = tmp_path / "program.py"
    program.write_text(
        "import jax, jax.numpy as jnp, sys\n"
        "@jax.jit\ndef f(x):\n    return jnp.sin(x).sum()\n"
        "for _ in range(4): f(jax.random.normal(jax.random.key(0), 1000))\n"
        "print(sys.argv[1:])\n"
    )
    status, out, _ = jitney_command("profile", str(program), "--steps", "3")
    assert status == 0
    assert out.startswith("['--steps', '3']\n")
    assert "f, program.py line 4: " in out
    assert "return jnp.sin(x).sum()" in out
    page, trace = tmp_path / "page.html", tmp_path / "trace.json"
    words = ["profile", "-o", str(page), "--trace", str(trace), str(program)]
    status, out, _ = jitney_command(*words)
    assert status == 0
    assert out == f"[]\n\n{page}\n\n{trace}: for ui.perfetto.dev\n"
    assert "return jnp.sin(x).sum()" in page.read_text()
    assert "compiled f" in trace.read_text()
    assert command.main(["profile", "--help"]) == 0
    assert command.main(["profile", "--trace"]) == 2
    assert command.main(["profile"]) == 2
