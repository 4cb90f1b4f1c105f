"""The cost model: all numbers that the compiler weighs ways by are in one file, for one processor."""

import ast
import pathlib

import jitney.compiler
from jitney.compiler.cost import COSTS, PROCESSOR, Processor, model
from jitney.compiler.llvm.target import X86_AVX2, X86_AVX512
from jitney.compiler.scalar_functions import rows
from jitney.core.util.record import fields

ROOT = pathlib.Path(jitney.compiler.__file__).parent

# Numbers that are no costs: of formats, of printing, of what is kept, of libraries' own.
OTHERS = {
    "hlo/text.py": {"ELIDE_ABOVE", "_SHOWN"},
    "hlo/sharding_propagation.py": {"ANY_CALL"},
    "hlo/passes/loop_fission.py": {"_CAP"},
    "plan/memory.py": {"ALIGNMENT"},
    "codegen/symbols.py": {"_KEPT_VIEWS"},
    "llvm/engine.py": {"DEFAULT_LEVEL", "_SHORT_TEXT"},
    "lapack.py": {"MAX_ELEMENTS", "_LANES"},
    "convolutions.py": {"SPACE", "_LEVEL"},
    "fourier.py": {"_LEVEL"},
    "library.py": {"_MUCH"},
    "sorting.py": {"_OPERANDS", "_PLACES", "_DIGITS", "_BLOCK", "_POSITIONS"},
    "fusion/group.py": {"_MANY"},
}
# Coefficients and bit patterns; blocks of eager loops.
NUMERIC = ("scalar", "scalar_functions", "reference", "cost.py")


def numbers(path):
    """Names of numbers that a module sets."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            parts = list(ast.walk(node.value))
            whole = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
            if all(isinstance(part, whole) for part in parts):
                constants = [part.value for part in parts if isinstance(part, ast.Constant)]
                if any(type(value) in (int, float) for value in constants):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    yield from [t.id for t in targets if t.id.isupper()]


def test_costs_are_in_one_file():
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(NUMERIC):
            found = set(numbers(path))
            assert found == OTHERS.get(name, set()), f"{name}: costs belong in compiler/cost.py"


def test_every_number_is_asked_for():
    text = "\n".join(p.read_text() for p in ROOT.rglob("*.py") if p.name != "cost.py")
    derived = [n for n, v in vars(type(COSTS)).items() if isinstance(v, property)]
    for name in [*fields(type(COSTS)), *derived]:
        assert name == "processor" or f"COSTS.{name}" in text, name


def test_decisions_count_on_the_registers_of_known_targets():
    assert PROCESSOR.vector_bits == X86_AVX2.vector_bits
    assert PROCESSOR.vector_registers == X86_AVX2.vector_registers
    assert PROCESSOR.widest_bits == X86_AVX512.vector_bits


def test_a_model_is_a_function_of_the_processor():
    narrow = model(Processor(vector_bits=128, widest_bits=128, vector_registers=32))
    assert (COSTS.lanes, COSTS.fission_lanes, COSTS.jammed_sums, COSTS.register_bits) == (
        16, 8, 16, 256,
    )  # fmt: skip
    assert (narrow.lanes, narrow.fission_lanes, narrow.jammed_sums) == (4, 4, 32)


def test_functions_cost_what_their_rows_say():
    for row in rows():
        assert COSTS.function(row.name) == row.cost >= 1
