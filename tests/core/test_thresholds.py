"""All sizes that decide how something is computed are thresholds, which a setting lowers."""

import ast
import pathlib
import subprocess
import sys

import pytest

import jitney
from jitney.compiler.cost import COSTS
from jitney.core.util import thresholds
from jitney.core.util.record import fields

ROOT = pathlib.Path(jitney.__file__).parent

# Numbers of modules that do not decide how something is computed: widths, counts of registers and of
# terms, limits of formats and of other packages; and copies of native code's numbers, whose both sides
# `compiler/test_thresholds.py` tries at true sizes.
OTHERS = {
    "api/jit/slow_calls.py": {"LARGE_ARRAY", "MANY_TRACES"},
    "api/parallel/visualize.py": {"_MAX_COLORS", "_LINES", "_COLUMNS_PER_LINE"},
    "cli/bench.py": {"ROUNDS"},
    "cli/command.py": {"_COLUMN"},
    "cli/measure.py": {"_MESSAGES", "_MESSAGE_BYTES"},
    "cli/run.py": {"_YOUNG_OBJECTS"},
    "cli/tour.py": {"REPEATS"},
    "compiler/codegen/marked.py": {"_UNIT", "_FIRST"},
    "compiler/codegen/interleaved.py": {"_TOGETHER"},
    "compiler/codegen/symbols.py": {"_KEPT_VIEWS"},
    "compiler/llvm/binding.py": {"_KNOWN_VERSIONS"},
    "compiler/convolutions.py": {"_PANEL_ROW", "_FILTER_ROWS"},
    "compiler/fourier_jobs.py": {"TILE", "_RADICES", "_LARGEST_FACTOR"},
    "compiler/hlo/text.py": {"ELIDE_ABOVE"},
    "compiler/llvm/engine.py": {"_SHORT_TEXT"},
    "compiler/lapack.py": {"_LANES", "MAX_ELEMENTS"},
    "compiler/library.py": {"_MUCH"},
    "compiler/plan/fourier_kernels.py": {"_SMALL_PRIMES"},
    "compiler/plan/memory.py": {"ALIGNMENT"},
    "compiler/reference/order.py": {"_POSITION_BITS"},
    "compiler/reference/threefry.py": {"PARITY"},
    "compiler/sorting.py": {
        "_OPERANDS", "_PART", "_PARTS", "_PLACES", "_DIGITS", "_BLOCK", "_POSITIONS",
    },
    "compiler/tile_products.py": {"_BLOCK", "_ROW", "DOTS", "TILES"},
    "core/types/avals.py": {"MAX_AXES"},
    "core/profiling/profile_data.py": {"_NS", "_PS"},  # in a microsecond, in a nanosecond
    "core/util/protobuf.py": {"_BITS"},
    "core/settings/compile_progress.py": {"MANY_OPERATIONS", "_COLUMNS"},
    "core/tracing/leaks.py": {"_MAX_STEPS"},
    "core/program/text.py": {"WIDTH", "SHARING_THRESHOLD"},
    "core/util/record.py": {"_WRITTEN_FIELDS"},
    "inspection/collect.py": {"_KEPT_BYTES"},
    "inspection/explain.py": {"_SHOWN_OPERATIONS", "_SHOWN_STORED"},
    "inspection/machine.py": {"_N", "_BYTES", "_TRIES"},
    "inspection/notebook.py": {"_OPEN_LINES"},
    "inspection/page.py": {"_DRAWN_STEPS", "_HELD"},
    "inspection/profile.py": {"_SHOWN_STEPS", "_SHOWN_LINES", "_SHOWN_FUNCTIONS"},
    "inspection/profile_page.py": {"_MOST_STEPS"},
    "inspection/roofline.py": {
        "_WIDTH", "_HEIGHT", "_LEFT", "_RIGHT", "_TOP", "_BOTTOM", "_LABELLED",
        "_LETTERS", "_LETTER", "_LINE",
    },
    "inspection/texts.py": {"_CODE_LINES"},
    "inspection/timeline.py": {"MOST_EVENTS"},
    "inspection/timing.py": {"_MOST_CALLS", "_LEAST_MEMORY"},
    "inspection/values.py": {"_EXPRESSION", "_DISTINCT", "_LONGEST", "_MOST_LOOKED_AT"},
    "numpy/einstein.py": {"_USUAL_EXTENT"},
    "primitives/elementwise/special.py": {"_STIRLING"},
    "private/stand_ins/callables.py": {"_CACHED"},
    "profiler.py": {"_TRACKS"},
    "runtime/execution/call_patterns.py": {"_MAX_PARTS"},
    "runtime/cache/disk_cache.py": {"MAX_BYTES", "MAX_FILE_BYTES", "_DIGEST", "_PAGE"},
    "runtime/devices/processes.py": {"_DIGEST", "_TEXT", "_LOOKS"},
    "runtime/execution/slow_programs.py": {
        "LONG_PROGRAM", "EQUAL_STEPS", "MANY_ITERATIONS", "LARGE_CONSTANTS",
    },
}  # fmt: skip
NUMERIC = (
    "compiler/scalar", "experimental", "scipy", "random", "primitives/random", "nn/scaled.py",
    "version.py",
)  # fmt: skip
LEAST = 8  # numbers below are counts

# Of the cost model, what does not compare with sizes of arrays: costs, widths, bounds on LLVM's time.
COUNTS = """
    picked_stride picked_stride_unmasked transposed_side transposed_blocks transposed_vector
    iteration gathered_lane scattered_lane halving gather loop_trips loop_launch loop_product
    register_operation scalar_function half_operation register_margin light_effort saved_per_effort
    unrolled_share short_axis
    light_body lightest_body accumulators tile_rows narrow_tile_rows tile_sums tiled_operand
    narrow_padding narrow_parts tile_product dot_product store_above vectorize_above recomputed_below
    recomputed_paths max_access_paths max_parts max_cost loose_arena lane_chunk shortest_vector
    strip_launches strip_detours summed_rows_most convolution_items convolution_partial_sums
    sort_steps transfer fission_gain fission_attempts bounded_steps line_bytes divisions
    panel_share link_latency link_bandwidth device_operations device_memory step_lines
    long_module_lines clocked_work
    kernel_statements max_carried loop_statements max_effort inline_uses outline_above
    call_effort calls_per_effort access_effort digested_bytes
"""


def _numbers(path):
    """Names of whole numbers that a module sets to literals."""
    literal = (
        ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Tuple, ast.Load
    )  # fmt: skip
    for node in ast.parse(path.read_text()).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        if all(isinstance(part, literal) for part in ast.walk(node.value)):
            value = eval(compile(ast.Expression(node.value), "", "eval"))
            values = value if isinstance(value, tuple) else (value,)
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(type(x) is int and x >= LEAST for x in values):
                names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
                yield from filter(str.isupper, names)


def test_sizes_are_thresholds():
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(NUMERIC):
            found = set(_numbers(path)) - OTHERS.get(name, set())
            assert not found, (
                f"{name}: sizes that decide something are `threshold(usual, small=...)`"
            )


def test_costs_are_sizes_or_counts():
    module = ast.parse((ROOT / "compiler" / "cost.py").read_text())
    (model,) = [n for n in module.body if isinstance(n, ast.ClassDef) and n.name == "CostModel"]
    sizes = {
        n.target.id
        for n in model.body
        if isinstance(n, ast.AnnAssign) and "threshold(" in ast.unparse(n.value or n.annotation)
    }
    assert sizes | {*COUNTS.split(), "processor"} == {*fields(type(COSTS))}
    assert not sizes & {*COUNTS.split()}


@pytest.mark.parametrize("value", ["1", "0", ""])
def test_the_setting_lowers_them(value, monkeypatch):
    monkeypatch.setenv(thresholds.VARIABLE, value)
    code = (
        "from jitney.compiler.cost import COSTS; from jitney.runtime.cache import disk_cache; "
        "print(COSTS.small_product, disk_cache._machine())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    size, machine = told.stdout.split()
    assert int(size) == (8 if value == "1" else 8192)
    from jitney.runtime.cache import disk_cache

    # Programs of the one are not taken from disk for the other.
    assert (machine == disk_cache._machine()) == (value != "1")
