"""Mutation testing: puts small faults into the code, one at a time, and says which no test notices.

    python tools/mutants.py map                         finds which lines each test file runs
    python tools/mutants.py run --count 200 --seed 7    tries faults, and says which survive
    python tools/mutants.py map --branches              finds which branches it takes, too
    python tools/mutants.py coverage                    prints how much of each folder the tests run

On Python 3.12 and newer the interpreter reports each line once, which costs little; before, and for
branches before 3.14, each line costs a call whenever it runs, and the map takes three times as long.

A fault is a *mutant* of one place: another comparison or arithmetic operator, a sign, `and` for `or`, a
number that is one larger, a condition that never holds, a `case` that is left out (Jia and Harman, An
analysis and survey of the development of mutation testing, 2011). Annotations, docstrings, messages of
errors and thresholds that only decide how fast something is have none. The places are drawn by the
seed, folder by folder, so that rules, passes, kernels and native code have their share.

A mutant is put into a copy of the project, build/mutants/tree-0 for the first of `--jobs` that run at a
time. The test files that run its line, those of near folders first, run until one fails: the mutant is
*killed*. What passes all of them, or all that fit into `--limit` seconds, *survives*. A mutant is
*unjudged* if pytest itself did not get through, which says nothing of the tests. All of these files run
once without a fault, and those that fail are reported and left out: they would kill every mutant.

Results go to build/mutants/results-SEED-COMMIT.jsonl, and a run that was cut off goes on where it
stopped. Changes that are not committed yet are part of COMMIT.
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import importlib.util
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "build" / "mutants"
DATA, TIMES, SETTINGS = HOME / "coverage", HOME / "seconds.json", HOME / "coveragerc"
PACKAGE = Path("src/jitney")

# How many of a hundred mutants are drawn from a folder: rules, programs, kernels, what surrounds them.
SHARES = {
    "primitives": 28,
    "transforms": 8,
    "compiler/hlo": 16,
    "compiler/plan": 10,
    "compiler/codegen": 10,
    "core": 6,
    "numpy": 8,
    "scipy": 4,
    "api": 4,
    "runtime/native": 6,
}
# Native code has no coverage: the tests of a file, by the beginning of its name.
NATIVE_TESTS = {
    "_convolve convolve": "tests/compiler/test_convolutions.py tests/primitives/convolution",
    "_fourier fourier": "tests/compiler/plan/test_fourier.py tests/numpy/test_fft.py",
    "_multiply multiply": "tests/compiler/test_tile_products.py",
    "_factorize factorize": "tests/compiler/test_own_factorizations.py tests/numpy/test_linalg.py",
    "sort select": "tests/compiler/test_sorting.py tests/primitives/reduction",
    "threefry": "tests/random",
    "": "tests/runtime tests/core tests/api/test_jit.py",
}

COMPARISONS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "is": "is not", "is not": "is", "in": "not in", "not in": "in",
}  # fmt: skip
ARITHMETIC = {"+": "-", "-": "+", "*": "+", "//": "*", "/": "*", "%": "*", "|": "&", "&": "|"}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
# Calls whose operands decide how fast something is, or what a message says.
UNTOUCHED_CALLS = {"threshold", "TypeVar", "cast", "overload", "warn", "getLogger", "ParamSpec"}
NATIVE = re.compile(r" (<=?|>=?|==|!=|\+|-|&&|\|\|) ")
NATIVE_SWAPS = {**COMPARISONS, **ARITHMETIC, "&&": "||", "||": "&&"}


class Mutant(NamedTuple):
    """A fault in one place of a file: of the text from `begin` up to `end`, `new` takes the place."""

    path: str
    line: int
    begin: int
    end: int
    new: str

    def applied(self, text: str) -> str:
        """The file's text with the fault."""
        return text[: self.begin] + self.new + text[self.end :]


# --- places ---------------------------------------------------------------------------------------


class _Places(ast.NodeVisitor):
    """Collects the mutants of a Python file."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path.as_posix(), text
        self.found: list[Mutant] = []
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.lines = text.splitlines()

    def _at(self, line: int, column: int) -> int:
        """Where a node begins or ends: columns are counted in bytes of UTF-8."""
        prefix = self.lines[line - 1].encode()[:column].decode()
        return self.starts[line - 1] + len(prefix)

    def _begin(self, node: ast.expr) -> int:
        return self._at(node.lineno, node.col_offset)

    def _end(self, node: ast.expr) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.end_lineno, node.end_col_offset)

    def _add(self, node: ast.expr, begin: int, end: int, new: str) -> None:
        self.found.append(Mutant(self.path, node.lineno, begin, end, new))

    def _swap_between(self, left: ast.expr, right: ast.expr, swaps: dict[str, str]) -> None:
        begin, end = self._end(left), self._begin(right)
        words = "|".join(sorted(map(re.escape, swaps), key=len, reverse=True))
        operator = re.search(rf"(?<=[\s)\]])({words})(?=[\s(])", self.text[begin:end] + " ")
        if operator and "#" not in self.text[begin:end]:
            at = begin + operator.start(1)
            self._add(left, at, at + len(operator[1]), swaps[operator[1]])

    def visit_Compare(self, node: ast.Compare) -> None:
        self._swap_between(node.left, node.comparators[0], COMPARISONS)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._swap_between(node.left, node.right, ARITHMETIC)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self._swap_between(node.values[0], node.values[1], {"and": "or", "or": "and"})
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub | ast.Not):
            begin = self._begin(node)
            self._add(node, begin, begin + len("not " if isinstance(node.op, ast.Not) else "-"), "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add(node, self._begin(node), self._end(node), str(not node.value))
        elif isinstance(node.value, int):
            self._add(node, self._begin(node), self._end(node), str(node.value + 1))

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        if name in UNTOUCHED_CALLS:
            return
        if isinstance(node.func, ast.Name) and name in NAMES:
            self._add(node, self._begin(node.func), self._end(node.func), NAMES[name])
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in ast.unparse(node.test):
            return
        begin, end = self._begin(node.test), self._end(node.test)
        breaks = "\n" * self.text.count("\n", begin, end)  # so that other lines keep their numbers
        self._add(node.test, begin, end, f"(False{breaks})" if breaks else "False")
        self.generic_visit(node)

    def visit_Match(self, node: ast.Match) -> None:
        for case in node.cases[:-1]:
            pattern = case.pattern
            if case.guard is None:
                end = self._at(pattern.end_lineno, pattern.end_col_offset)
                self.found.append(Mutant(self.path, pattern.lineno, end, end, " if False"))
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for x in [*node.args.defaults, *node.args.kw_defaults, *node.body]:
            if x is not None:
                self.visit(x)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for x in node.body:
            self.visit(x)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":  # of zip, which the right program never needs
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def _pass_over(self, node: ast.AST) -> None:
        """Imports, assertions and messages have no mutants."""

    visit_Raise = visit_Assert = visit_JoinedStr = visit_Import = visit_ImportFrom = _pass_over


def _of_python(path: Path) -> list[Mutant]:
    text = (ROOT / path).read_text()
    places = _Places(path, text)
    places.visit(ast.parse(text))
    return places.found


def _of_native(path: Path) -> list[Mutant]:
    found, at, comment = [], 0, False
    for number, line in enumerate((ROOT / path).read_text().splitlines(keepends=True), 1):
        comment = comment or "/*" in line
        is_code = (
            not comment and not line.lstrip().startswith(("#", "//", '"""')) and "`" not in line
        )
        for operator in NATIVE.finditer(line) if is_code else ():
            begin, end = at + operator.start(1), at + operator.end(1)
            found.append(Mutant(path.as_posix(), number, begin, end, NATIVE_SWAPS[operator[1]]))
        comment = comment and "*/" not in line
        at += len(line)
    return found


def _listed(folder: Path) -> list[Path]:
    """The files of a folder that a copy of the project has: those of git; all, without a repository."""
    if not (ROOT / ".git").exists():
        return sorted(x.relative_to(ROOT) for x in (ROOT / folder).rglob("*") if x.is_file())
    command = ["git", "ls-files", "-z", "--", folder.as_posix()]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return sorted(Path(x) for x in listed.split("\0") if x and (ROOT / x).is_file())


@functools.cache
def _places(folder: str) -> tuple[Mutant, ...]:
    """All mutants of a folder."""
    is_native = folder == "runtime/native"
    kinds = (".h", ".pxi", ".pyx") if is_native else (".py",)
    files = [x for x in _listed(PACKAGE / folder) if x.suffix in kinds]
    of = _of_native if is_native else _of_python
    return tuple(mutant for file in files for mutant in of(file))


def drawn(count: int, seed: int) -> list[Mutant]:
    """`count` mutants: each folder has its share, of which each place is as likely as any other."""
    rng = random.Random(seed)
    chosen: list[Mutant] = []
    for folder, share in SHARES.items():
        chosen += rng.sample(_places(folder), round(count * share / sum(SHARES.values())))
    rng.shuffle(chosen)
    return chosen


# --- which tests run which lines ------------------------------------------------------------------


def _test_files() -> list[str]:
    return [x.as_posix() for x in _listed(Path("tests")) if x.match("test_*.py")]


def _measure(test: str) -> tuple[str, float]:
    begun = time.monotonic()
    environment = {**os.environ, "COVERAGE_FILE": str(DATA)}
    command = ["coverage", "run", f"--rcfile={SETTINGS}", "--parallel-mode"]
    command += [
        f"--context={test}",
        f"--source={ROOT / PACKAGE}",
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        test,
    ]
    subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    return test, time.monotonic() - begun


def make_map(jobs: int, branches: bool) -> None:
    """Runs each test file in a process of its own under coverage, and joins what they ran.

    What a test runs in processes that it starts, such as programs on several devices, is the test's;
    only what a process ran that a signal or `os._exit` ended is not known.
    """
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    core = "sysmon" if sys.version_info >= ((3, 14) if branches else (3, 12)) else "ctrace"
    SETTINGS.write_text(f"[run]\npatch = subprocess\nbranch = {branches}\ncore = {core}\n")
    with ThreadPoolExecutor(jobs) as pool:
        seconds = dict(pool.map(_measure, _test_files()))
    TIMES.write_text(json.dumps(seconds, indent=1))
    environment = {**os.environ, "COVERAGE_FILE": str(DATA)}
    join = [sys.executable, "-m", "coverage", "combine", "-q", str(HOME)]
    subprocess.run(join, cwd=ROOT, env=environment, check=True)


def print_coverage() -> None:
    """Prints how many lines of each folder of the package run, and how many branches are taken."""
    environment = {**os.environ, "COVERAGE_FILE": str(DATA)}
    report = HOME / "report.json"
    command = [sys.executable, "-m", "coverage", "json", "-q", "-o", str(report)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    counts: dict[str, Counter[str]] = {}
    for file, found in json.loads(report.read_text())["files"].items():
        folder = Path(file).relative_to(PACKAGE).parts[0]
        folder = folder if not folder.endswith(".py") else "(files)"
        for whole in (folder, "all"):
            counts.setdefault(whole, Counter()).update(
                {k: v for k, v in found["summary"].items() if isinstance(v, int)}
            )
    for folder, n in sorted(counts.items()):
        lines = n["covered_lines"] / max(n["num_statements"], 1)
        print(f"{folder:18} {lines:7.1%} of lines", end="")
        if n["num_branches"]:
            print(f" {n['covered_branches'] / n['num_branches']:7.1%} of branches", end="")
        print()


def _statement_at(module: ast.Module, line: int) -> tuple[range, bool]:
    """(lines of the innermost statement at a line, whether it runs when the module is imported).

    Coverage may report all of them under the first. Those of a compound statement are its head's.
    """
    found, is_imported = range(line, line + 1), True
    statements = [x for x in ast.walk(module) if isinstance(x, ast.stmt)]
    for x in sorted(statements, key=lambda x: x.lineno):
        decorators = [d.lineno for d in getattr(x, "decorator_list", ())]
        begin, end = min([x.lineno, *decorators]), x.end_lineno or x.lineno
        body: list[ast.stmt] = getattr(x, "body", [])
        if not begin <= line <= end:
            continue
        if isinstance(x, ast.Match):
            end = x.subject.end_lineno or x.lineno
        elif body:
            end = max(body[0].lineno - 1, x.lineno)
        is_head = begin <= line <= end
        found = range(begin, end + 1) if is_head else range(line, line + 1)
        is_function = isinstance(x, ast.FunctionDef | ast.AsyncFunctionDef)
        is_imported = is_imported and (is_head or not is_function)
    return found, is_imported


def _lines_of_functions(module: ast.Module) -> set[int]:
    """The lines that run when functions of the module are called."""
    functions = [x for x in ast.walk(module) if isinstance(x, ast.FunctionDef)]
    spans = [range(x.body[0].lineno, (x.end_lineno or x.lineno) + 1) for x in functions]
    return {line for span in spans for line in span}


def _covering(mutant: Mutant) -> list[str]:
    """The test files that run the mutant's statement: first those of its name, then of near folders.

    Among these the quickest come first.

    Of a statement that runs when its module is imported, tests that call functions of the module come
    before those that only import it.
    """
    name = Path(mutant.path).stem
    if "runtime/native" in mutant.path:
        for prefixes, tests in NATIVE_TESTS.items():
            if name.startswith(tuple(prefixes.split(" "))):
                return tests.split()
    from coverage import CoverageData

    data = CoverageData(str(DATA))
    data.read()
    by_line = data.contexts_by_lineno(str(ROOT / mutant.path))

    def tests_of(lines: Iterable[int]) -> set[str]:
        return {test for line in lines for test in by_line.get(line, ()) if test}

    module = ast.parse((ROOT / mutant.path).read_text())
    lines, is_imported = _statement_at(module, mutant.line)
    covering = tests_of(lines)
    callers = tests_of(_lines_of_functions(module)) if is_imported else covering
    seconds = json.loads(TIMES.read_text())
    place = Path(mutant.path).relative_to(PACKAGE).parent.parts

    def order(test: str) -> tuple[int, int, float]:
        is_named = Path(test).stem == f"test_{name}"
        folder = Path(test).relative_to("tests").parent.parts
        shared = sum(takewhile(bool, (a == b for a, b in zip(place, folder, strict=False))))
        calls = test in callers
        return (0 if is_named else 1 if calls else 2, -shared, seconds[test])

    return sorted(covering | callers, key=order)


# --- runs -----------------------------------------------------------------------------------------


def _make_tree(tree: Path) -> None:
    """Copies the project as git lists it, and what was compiled in place."""
    shutil.rmtree(tree, ignore_errors=True)
    for name in _listed(Path()):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    _copy_libraries(tree)


def _copy_libraries(tree: Path) -> None:
    """Copies the compiled native code without faults."""
    for library in (ROOT / PACKAGE).rglob("*.so"):
        shutil.copy2(library, tree / library.relative_to(ROOT))


def _compile(tree: Path) -> bool:
    """Compiles native code in place; needs Cython and setuptools 77."""
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    return subprocess.run(command, cwd=tree, capture_output=True, check=False).returncode == 0


class Unfinished(RuntimeError):
    """A run of pytest that says nothing of the tests, with the end of what it printed."""


def _fails(tree: Path, tests: list[str], seconds: float) -> bool:
    """Whether one of the tests fails, ends its process, or takes longer than all may.

    A file that cannot be imported fails, too: a fault may be the reason.

    Raises:
      Unfinished: if pytest was interrupted, or met an error of its own or in how it is called.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    command += ["--continue-on-collection-errors"]  # else their status is that of an interruption
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    try:
        found = subprocess.run(
            [*command, *tests], cwd=tree, env=environment, capture_output=True, check=False,
            timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True
    if found.returncode in (2, 3, 4):
        said = (found.stdout + found.stderr).decode(errors="replace")[-2000:]
        raise Unfinished(f"pytest {' '.join(tests)}: status {found.returncode}\n{said}")
    return found.returncode not in (0, 5)  # 5: no test was chosen


Batch = tuple[list[str], float]


def _batches(tests: list[str], limit: float) -> Iterator[Batch]:
    """The first test files one by one, then all others that fit; with the time that they may take."""
    seconds = json.loads(TIMES.read_text()) if TIMES.exists() else {}
    rest: list[str] = []
    for k, test in enumerate(tests):
        limit -= seconds.get(test, 60)
        if limit < 0 and k:
            break
        if k < 2:
            yield [test], 60 + 5 * seconds.get(test, 120)
        else:
            rest.append(test)
    if rest:
        yield rest, 60 + 5 * sum(seconds.get(x, 60) for x in rest)


def _failing_anyway(batches: Iterable[Batch], trees: SimpleQueue[Path], known: Path) -> set[str]:
    """The tests of the batches that fail without a fault; `known` keeps what is known of the tests.

    Raises:
      Unfinished: if pytest does not get through.
    """
    tests = sorted({test for batch, _ in batches for test in batch})
    fails: dict[str, bool] = json.loads(known.read_text()) if known.exists() else {}
    seconds = json.loads(TIMES.read_text()) if TIMES.exists() else {}

    def judge(test: str) -> tuple[str, bool]:
        tree = trees.get()
        try:
            return test, _fails(tree, [test], 60 + 5 * seconds.get(test, 120))
        finally:
            trees.put(tree)

    with ThreadPoolExecutor(max(trees.qsize(), 1)) as pool:
        fails.update(pool.map(judge, [test for test in tests if test not in fails]))
    known.write_text(json.dumps(fails, indent=1))
    return {test for test in tests if fails[test]}


def _write(file: Path, text: str) -> None:
    """Writes a file, without bytecode: that of a text of equal second and size passes for its own."""
    file.write_text(text)
    Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)


def verdict(mutant: Mutant, tree: Path, batches: list[Batch]) -> str:
    """What the tests say of the mutant: killed, survived, uncovered, or that it is not a program.

    Raises:
      Unfinished: if pytest does not get through.
    """
    if not batches:
        return "uncovered"
    file = tree / mutant.path
    text = file.read_text()
    is_native = not mutant.path.endswith(".py")
    _write(file, mutant.applied(text))
    try:
        if is_native and not _compile(tree):
            return "refused"
        killed = any(_fails(tree, batch, seconds) for batch, seconds in batches)
        return "killed" if killed else "survived"
    finally:
        _write(file, text)
        if is_native:
            _copy_libraries(tree)


def _folder(mutant: Mutant) -> str:
    return next(x for x in SHARES if mutant.path.startswith(f"{PACKAGE}/{x}/"))


def _print_survivor(mutant: Mutant, said: str) -> None:
    text = (ROOT / mutant.path).read_text()
    print(f"{said}: {mutant.path}:{mutant.line}")
    print(f"    - {text.splitlines()[mutant.line - 1].strip()}")
    print(f"    + {mutant.applied(text).splitlines()[mutant.line - 1].strip()}", flush=True)


def _commit() -> str:
    """What is tried: the commit, and a digest of what is not committed yet, if there is anything."""

    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout

    changes = git("diff", "HEAD", "--binary")
    digest = f"-{hashlib.sha256(changes).hexdigest()[:8]}" if changes else ""
    return git("rev-parse", "--short=12", "HEAD").decode().strip() + digest


def run(count: int, seed: int, limit: float, jobs: int) -> None:
    """Tries `count` mutants, and prints those that are not killed and the counts by folder.

    Raises:
      RuntimeError: if native code does not compile without a fault, or pytest does not get through.
    """
    commit = _commit()
    results = HOME / f"results-{seed}-{commit}.jsonl"
    HOME.mkdir(parents=True, exist_ok=True)
    known: dict[Mutant, str] = {}
    if results.exists():
        records = map(json.loads, results.read_text().splitlines())
        known = {Mutant(*record["mutant"]): record["verdict"] for record in records}
    trees: SimpleQueue[Path] = SimpleQueue()
    for job in range(jobs):
        _make_tree(HOME / f"tree-{job}")
        trees.put(HOME / f"tree-{job}")
    if not _compile(HOME / "tree-0"):
        raise RuntimeError("native code does not compile: setup.py needs Cython and setuptools 77")
    _copy_libraries(HOME / "tree-0")

    mutants = drawn(count, seed)
    batches = {x: list(_batches(_covering(x), limit)) for x in mutants if x not in known}
    needed = [batch for of_one in batches.values() for batch in of_one]
    failing = _failing_anyway(needed, trees, HOME / f"clean-{commit}.json")
    for test in sorted(failing):
        print(f"left out, since it fails without a fault: {test}", flush=True)

    def judge(mutant: Mutant) -> tuple[Mutant, str]:
        if mutant in known:
            return mutant, known[mutant]
        kept = [([x for x in batch if x not in failing], time) for batch, time in batches[mutant]]
        tree = trees.get()
        try:
            said = verdict(mutant, tree, [x for x in kept if x[0]])
        except Unfinished as error:  # not kept: the next run tries the mutant again
            print(error, flush=True)
            return mutant, "unjudged"
        finally:
            trees.put(tree)
        with results.open("a") as file:
            file.write(json.dumps({"mutant": mutant, "verdict": said}) + "\n")
        return mutant, said

    counts: dict[str, Counter[str]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for mutant, said in pool.map(judge, mutants):
            counts.setdefault(_folder(mutant), Counter())[said] += 1
            if said in ("survived", "uncovered", "unjudged"):
                _print_survivor(mutant, said)
    for folder, n in counts.items():
        print(f"{folder:18}", *(f"{k} {v}" for k, v in sorted(n.items())))


def main() -> None:
    """Runs the command that the arguments name."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("map", "run", "coverage"))
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=600, help="seconds of tests for a mutant")
    parser.add_argument("--branches", action="store_true", help="map: with branches, for coverage")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    given = parser.parse_args()
    if given.command == "map":
        make_map(given.jobs, given.branches)
    elif given.command == "coverage":
        print_coverage()
    else:
        run(given.count, given.seed, given.limit, given.jobs)


if __name__ == "__main__":
    main()
