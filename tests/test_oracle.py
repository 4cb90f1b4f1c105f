"""The recorded oracle, `tests/helpers/oracle.py`: digests, records, comparison with live answers."""

import importlib.util
import itertools
import shutil
import sys
import types

import ml_dtypes
import numpy as np
import pytest
from tests.helpers import digests as digests_module, oracle as module
from tests.helpers.answers import agree_within, dtype_of
from tests.helpers.oracle import Oracle, Raised, Records, Value, agree, decode, digest, encode, jax
from tools import run

NUMBERS = [1, 2]


def helper(x):
    return x + NUMBERS[0]


def function_of(path, text):
    """The function `f` of a module with this text."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = loaded  # where `inspect` looks for the file of a class
    spec.loader.exec_module(loaded)
    return loaded.f


@pytest.fixture
def digests(tmp_path, monkeypatch):
    """Maps the text of a module to the digest of its function `f`."""
    monkeypatch.setattr(digests_module, "TESTS", tmp_path)
    count = iter(range(100))
    return lambda text: digest(function_of(tmp_path / f"m{next(count)}.py", text))


BASE = """
import contextlib
N = 3
M = 5
def g(x):
    for i in range(2):
        x = x + N
        x = x + x
    return x
@contextlib.contextmanager
def doubled(x):
    yield 2 * x
class Below:
    def scale(self):
        return 7
class Above(Below):
    def shift(self):
        return M
def unused(x):
    return x
def f():
    with doubled(g(1)) as y:
        return Above().shift() + y
"""
CHANGES = {
    "a constant": ("N = 3", "N = 4"),
    "a function": ("x + N", "x - N"),
    "an argument": ("g(1)", "g(2)"),
    "the text": ("g(1)", "(g)(1)"),
    "the block of a statement": ("        x = x + x", "    x = x + x"),
    "a context manager": ("yield 2 * x", "yield 3 * x"),
    "a constant that a method reads": ("M = 5", "M = 6"),
    "a base class": ("return 7", "return 8"),
}


@pytest.mark.parametrize(("old", "new"), CHANGES.values(), ids=CHANGES)
def test_digest_covers_what_the_answer_depends_on(digests, old, new):
    assert digests(BASE) != digests(BASE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"), [("def unused(x):", "def unused(y):"), ("N = 3", "# three\nN = 3"), ("", "\n")]
)
def test_digest_passes_over_what_it_does_not_depend_on(digests, old, new):
    assert digests(BASE) == digests(BASE.replace(old, new, 1))


@pytest.mark.parametrize(
    ("new", "is_same"),
    [("def g():\n    return 2\n", False), ("def g():\n    return 1\ndef h(): pass\n", True)],
)
def test_digest_covers_what_is_read_of_a_module(digests, tmp_path, new, is_same):
    asking = "import helper_of_digests as helper\ndef f():\n    return helper.g()\n"
    found = []
    for text in ("def g():\n    return 1\n", new):
        helper = types.ModuleType("helper_of_digests")
        path = tmp_path / f"helper{len(found)}.py"
        path.write_text(text)
        helper.__file__ = str(path)
        exec(compile(text, str(path), "exec"), vars(helper))
        sys.modules["helper_of_digests"] = helper
        found.append(digests(asking))
    del sys.modules["helper_of_digests"]
    assert (found[0] == found[1]) == is_same


def test_digest_passes_over_the_column_of_a_definition(digests):
    deeper = "if True:\n" + "\n".join(f"    {line}" for line in BASE.splitlines())
    assert digests(BASE) == digests(deeper)


def test_digest_knows_a_file_by_its_place_among_the_tests(tmp_path, monkeypatch):
    found = set()
    for checkout in ("one", "other"):
        monkeypatch.setattr(digests_module, "TESTS", tmp_path / checkout)
        (tmp_path / checkout).mkdir()
        path = tmp_path / checkout / "m.py"
        found.add(digest(function_of(path, "def f():\n    return __file__\n")))
    assert len(found) == 1


def test_digest_covers_closures_and_operands():
    def asking(x, y=0):
        return lambda: helper(x) + y

    operands = [1, 1.0, True, "1", np.float32(1), np.ones(1), np.ones(1, np.int32), np.zeros(1)]
    operands += [np.ones((1, 1)), (1,), [1], {1: 1}, slice(1), None]
    found = [digest(asking(x)) for x in operands]
    assert len(set(found)) == len(found)
    assert digest(asking(1)) == digest(asking(1)) != digest(asking(1, 2))


def test_digest_covers_what_is_asked_by_of_jax(monkeypatch):
    found = []
    monkeypatch.setattr(module, "answer", lambda compute, agrees: found.append(digest(compute)))
    for use, arguments, x64 in [(helper, (1,), False), (helper, (2,), False), (helper, (1,), True)]:
        module.of_jax(use, *arguments, x64=x64)
    module.of_jax(lambda jax, x: x, 1)
    assert len(set(found)) == 4


def test_values_without_a_digest_are_refused():
    with pytest.raises(TypeError, match="no digest for a object"):
        digest(object())


ANSWERS = [
    None,
    True,
    -3,
    2**70,
    0.1,
    float("-inf"),
    1 - 2j,
    "text",
    b"bytes",
    (slice(1, None, 2), ...),
    np.dtype(ml_dtypes.bfloat16),
    [1, (2.0, "x")],
    {"a": [1], 3: None},
    Raised(("ValueError", "Exception")),
    np.float32(1.5),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
def test_answers_survive_their_encoding(answer):
    back = decode(encode(answer))
    assert back == answer and type(back) is type(answer)


def test_arrays_of_text_survive_their_encoding():
    array = np.array([["a", "bcd"]])
    back = decode(encode(array))
    assert back.dtype == array.dtype and back.tolist() == array.tolist()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int4", "complex128", "bool", "uint8"])
def test_arrays_survive_their_encoding(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype_of(dtype))
    back = decode(encode(Value(array, True)))
    assert back.weak_type and back.dtype == array.dtype and back.shape == (2, 3)
    assert back.array.tobytes() == array.tobytes()
    assert agree(back, Value(array, True)) and not agree(back, Value(array, False))
    assert not agree(back, Value(array.reshape(3, 2), True))


def test_agreement_allows_for_rounding_alone():
    x = np.array([1, 1e-3, np.nan, np.inf], np.float32)
    assert agree(x, x * np.float32(1 + 1e-6))
    for i, wrong in enumerate([1.001, 2e-3, 0.0, -np.inf]):
        y = x.copy()
        y[i] = wrong
        assert not agree(x, y)
    assert not agree(np.array([1e6, 1, -2], np.float32), np.array([1e6, -50, 50], np.float32))
    assert not agree(np.array([1, 2]), np.array([1, 3]))
    assert not agree("a", "b") and not agree([1], [1, 2])
    assert agree({"a": 1, "b": 2}, {"b": 2, "a": 1}) and not agree({"a": 1}, {"a": 1, "b": 2})
    assert not agree(np.float32(1), np.array(1, np.float32))


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "float32", "float64", "complex64"])
def test_agreement_at_special_values(dtype):
    x = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1]).astype(dtype)
    assert agree(x, x.copy())
    for i in range(6):
        for value in (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0):
            y = x.copy()
            y[i] = value
            assert agree(x, y) == (
                y.tobytes() == x.tobytes() or (np.isnan(x[i]) and np.isnan(value))
            )


def test_agreement_of_signaling_nans():
    """NumPy warns when it widens them, and warnings are errors here."""
    x = np.array([0x7F81, 0x3F80], np.uint16).view(ml_dtypes.bfloat16)
    assert agree(x, x.copy()) and not agree(x, np.ones(2, ml_dtypes.bfloat16))


def test_agreement_within_the_tolerance_of_a_test():
    x = np.array([1.0, 0.0, np.nan, np.inf], np.float32)
    near = np.array([1.001, -0.0, np.nan, np.inf], np.float32)
    within = agree_within(1e-2, 0)
    assert not agree(x, near) and within(x, near) and within([x, "a"], [near, "a"])
    assert within(Value(x, True), Value(near, True))
    assert not within(Value(x, True), Value(near, False))
    assert not within(x, near.astype(np.float64)) and not within([x], [x, x])
    assert not within(x, np.array([1.1, 0, np.nan, np.inf], np.float32))
    assert not within(x, np.array([1, 0, 0, np.inf], np.float32))


def test_agreement_of_the_parts_of_complex_numbers():
    def of(*parts):
        return np.array(parts).view(np.complex128)

    special = (0.0, -0.0, np.inf, -np.inf, np.nan, 2.0)
    for a, b in itertools.product(special, repeat=2):
        for c, d in itertools.product(special, repeat=2):
            same = all(
                (x == y and np.signbit(x) == np.signbit(y)) or (np.isnan(x) and np.isnan(y))
                for x, y in ((a, c), (b, d))
            )
            assert agree(of(a, b), of(c, d)) == same
    assert agree(of(np.inf, 1.0), of(np.inf, 1 + 1e-15))
    assert not agree(of(np.inf, 1.0), of(np.inf, 1.1))
    assert agree(of(1.0, 1e-17), of(1.0, 2e-17)) and not agree(of(1.0, 0.1), of(1.0, 0.2))


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"])
def test_agreement_of_narrow_types_is_of_two_ulps(name):
    dtype = dtype_of(name)
    x = np.array([1, 2, -3, 3.5], dtype)
    ulp = float(ml_dtypes.finfo(dtype).eps)
    assert agree(x, (x.astype(np.float32) * (1 + ulp)).astype(dtype))
    for wrong in (-x, x * dtype.type(0), x[::-1].copy()):
        assert not agree(x, wrong)


@pytest.fixture
def asked(tmp_path):
    """An oracle of its own, which has recorded the answer to `ask`."""
    oracle = Oracle()
    records = Records(tmp_path / "records.json.xz")
    oracle.current = records
    ask = lambda: np.arange(3.0)  # noqa: E731 - its source is what is asked
    records.write({digest(ask): encode(np.arange(3.0))})
    return oracle, records, ask


def test_recorded_answers_are_read(asked):
    oracle, _, ask = asked
    assert np.array_equal(oracle.answer(ask), np.arange(3.0))
    with pytest.raises(AssertionError, match="no record for this case"):
        oracle.answer(lambda: np.arange(4.0))


def test_a_wrong_record_is_caught_where_it_is_drawn(asked, monkeypatch):
    oracle, records, ask = asked
    monkeypatch.setattr(module, "installed_version", lambda: module.VERSIONS[-1])
    records.write({digest(ask): encode(np.array([0.0, 1.0, 2.5]))})
    assert oracle.answer(ask)[2] == 2.5  # not drawn
    oracle.share = 0.5
    while not oracle.is_drawn(digest(ask)):
        oracle.seed += 1
    with pytest.raises(AssertionError, match="is wrong about"):
        oracle.answer(ask)


def test_answers_of_an_older_version_stand_where_the_newest_has_none(asked, monkeypatch):
    oracle, records, ask = asked
    newest, older = module.VERSIONS
    keys = [module.key_of(digest(ask), v) for v in (newest, older)]
    assert keys[0] != keys[1]
    records.write({keys[1]: encode("old")})
    assert oracle.answer(ask) == "old"
    oracle.share = 1.0
    monkeypatch.setattr(module, "installed_version", lambda: newest)
    assert oracle.answer(ask) == "old"  # of which the newest says nothing
    assert (oracle.computed, oracle.of_others) == (0, 1)
    monkeypatch.setattr(module, "installed_version", lambda: older)
    with pytest.raises(AssertionError, match="is wrong about"):
        oracle.answer(ask)
    oracle.current = Records(records.path)
    oracle.current.write({keys[0]: encode("new"), keys[1]: encode("old")})
    assert oracle.answer(ask) == "new"
    oracle.recording = True  # by the older one, which does not take the answer away
    assert oracle.answer(ask) == "new" and [*oracle.current.written] == keys[:1]


def test_recording_keeps_the_answers_that_there_are(asked, monkeypatch):
    oracle, records, ask = asked
    newest, older = module.VERSIONS
    oracle.recording = True
    records.write({module.key_of(digest(ask), older): encode("old")})
    monkeypatch.setattr(module, "installed_version", lambda: newest)
    assert oracle.answer(ask) == "old"
    oracle.current, oracle.records_anew = Records(records.path), True
    assert np.array_equal(oracle.answer(ask), np.arange(3.0))
    assert [*oracle.current.written] == [module.key_of(digest(ask), newest)]
    assert oracle.new == 1


def test_new_questions_are_for_the_newest_version(asked, monkeypatch):
    oracle, records, ask = asked
    older = module.VERSIONS[-1]
    oracle.recording = True
    records.write({})
    monkeypatch.setattr(module, "installed_version", lambda: older)
    with pytest.raises(RuntimeError, match=r"record this file on Python 3\.12 or newer"):
        oracle.answer(ask)
    assert np.array_equal(oracle.answer(ask, last=older), np.arange(3.0))
    oracle.current, oracle.takes_older = Records(records.path), True
    assert np.array_equal(oracle.answer(ask), np.arange(3.0))


def test_answers_are_recorded_by_known_versions_alone(asked, monkeypatch):
    oracle, _, ask = asked
    oracle.recording = True
    monkeypatch.setattr(module, "installed_version", lambda: "0.1")
    with pytest.raises(RuntimeError, match="answers are recorded by JAX"):
        oracle.answer(ask)


def test_answers_are_recorded_and_merged(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "installed_version", lambda: module.VERSIONS[0])
    monkeypatch.setattr(module, "RECORDS", tmp_path / "oracle")
    monkeypatch.setattr(module, "TESTS", tmp_path)
    oracle = Oracle()
    monkeypatch.setattr(module, "oracle", oracle)
    oracle.recording, oracle.share = True, 1.0
    oracle.enter(tmp_path / "test_a.py")

    def fails():
        raise ZeroDivisionError("a sentence of its own")

    assert oracle.answer(lambda: "one", 1) == "one"
    assert oracle.answer(fails, 2).name == "ZeroDivisionError"
    module.save(tmp_path / "parts")
    stale = Records(tmp_path / "oracle" / "test_a.json.xz")
    stale.write({"stale": 1})
    assert len(module.merge(tmp_path / "parts", whole=False)) == 1
    assert len(Records(stale.path).read) == 3
    oracle.leave(tmp_path / "test_a.py")  # a test of it was skipped
    shutil.rmtree(tmp_path / "parts")
    module.save(tmp_path / "parts")
    module.merge(tmp_path / "parts", whole=True)
    assert len(Records(stale.path).read) == 3
    oracle.partial.clear()
    shutil.rmtree(tmp_path / "parts")
    module.save(tmp_path / "parts")
    module.merge(tmp_path / "parts", whole=True)
    assert len(Records(stale.path).read) == 2
    assert "sentence" not in str(Records(stale.path).read)


def test_faults_of_a_question_are_not_answers(monkeypatch):
    for fails in (lambda: absent, lambda: __import__("absent"), lambda: eval("(,)")):  # noqa: F821
        with pytest.raises((NameError, ImportError, SyntaxError)):
            module._computed(fails)
    assert module._computed(lambda: {}["x"]) == {"raised": ["KeyError", "LookupError", "Exception"]}
    assert not module.oracle.may_import


def test_two_answers_for_one_digest_are_refused(asked, monkeypatch):
    oracle, _, _ = asked
    oracle.recording = True
    monkeypatch.setattr(module, "installed_version", lambda: module.VERSIONS[0])
    first, second = [lambda: "one", lambda: "two"]  # of one text: their line
    assert oracle.answer(first) == "one"
    assert oracle.answer(first) == "one"
    with pytest.raises(AssertionError, match="two answers for one digest"):
        oracle.answer(second)
    assert oracle.answer(second, 2) == "two"


def test_older_answers_are_those_that_a_command_checks():
    newest, oldest = module.VERSIONS
    older = {}
    for path in module.RECORDS.rglob("*.json.xz"):
        versions = [key.partition(" ")[2] or oldest for key in Records(path).read]  # see `key_of`
        assert {*versions} <= {newest, oldest}, path
        if oldest in versions:
            name = path.relative_to(module.RECORDS).as_posix().removesuffix(".json.xz")
            older[f"tests/{name}.py"] = versions.count(oldest)
    programs = {"tests/libraries/test_libraries.py": 33}  # whose libraries take Python 3.11
    known = run.OLDER_ANSWERS | programs
    assert older == known, (
        f"answers of JAX {oldest}, {dict(older.items() - known.items())}, are others than "
        f"{dict(known.items() - older.items())}: record them with {newest}, or change OLDER_ANSWERS in "
        "tools/run.py"
    )


def test_real_jax_is_for_answers_alone():
    with pytest.raises(RuntimeError, match="mark the test `live`"):
        _ = jax.numpy
