"""`jax.experimental.source_mapper`: maps of jaxprs are JAX's, where both know the source."""

import os

import pytest
from tests.helpers.oracle import RealModule, answer, jax as real

import jitney
from jitney.experimental import source_mapper

theirs = RealModule("jax.experimental.source_mapper")


def straight(jax):
    def f(x):
        y = jax.numpy.sin(x)
        return y * 2 + jax.lax.exp(x)

    return f


def nested(jax):
    def f(x):
        return jax.lax.scan(lambda c, r: (c + r,
                                          jax.lax.cos(r)), 0., x)  # fmt: skip

    return f


def called(jax):
    inner = jax.jit(lambda x: jax.lax.sin(x) * 2)

    def f(x):
        return inner(x) + inner(x + 1)

    return f


def positions(dump, first):
    """(line, column) in the text and in the file, of all segments; lines from those of the function."""
    found, source, row, place = [], 0, 0, 0
    for line, group in enumerate(dump.source_map.mappings):
        column = 0
        for segment in group:
            column += segment[0]
            source, row, place = (
                a + b for a, b in zip((source, row, place), segment[1:], strict=True)
            )
            name = os.path.basename(dump.source_map.sources[source])
            found.append([line, column, name, row - first, place])
    return found


def mapped(jax, mapper, make):
    function = make(jax)
    (dump,) = mapper.generate_sourcemaps(function, mapper.filter_passes("jaxpr"))(
        jax.numpy.arange(4.0)
    )
    first = make.__code__.co_firstlineno
    return [dump.pass_name, dump.generated_code, positions(dump, first)]


@pytest.mark.parametrize("make", [straight, nested, called])
def test_maps(make):
    ours = mapped(jitney, source_mapper, make)
    assert ours == answer(lambda: mapped(real, theirs, make))
    assert ours[2]


def test_form():
    def use(m):
        source_map = m.SourceMap(
            3, ["a.py", "b"], ["x", "y"], ["n"],
            [[(0, 0, 1, 2), (5, 1, 3, -2)], [], [(7,), (100, 0, -1000, 64, 0)]],
        )  # fmt: skip
        text = source_map.to_json()
        return [text, m.SourceMap.from_json(text) == source_map]

    assert use(source_mapper) == answer(lambda: use(theirs))


def test_segments():
    def use(m):
        generator = m.MappingsGenerator()
        generator.new_group()
        for segment in ((3, 1, 10, 4), (7, 1, 12, 0), (9,), (11, 0, 2, 2, 1)):
            generator.new_segment(*segment)
        generator.new_group()
        generator.new_segment(2, 0, 2, 2)
        return [[list(x) for x in group] for group in generator.mappings()]

    assert use(source_mapper) == answer(lambda: use(theirs))
    with pytest.raises(RuntimeError, match="new_group"):
        source_mapper.MappingsGenerator().new_segment(1, 2, 3, 4)


def test_passes_of_libraries(monkeypatch):
    monkeypatch.setattr(source_mapper.common, "_passes", {})
    seen = []

    def compiled(work_dir, f, args, kwargs, **options):
        assert os.path.isdir(work_dir)
        seen.append((args, kwargs, options))
        return f(*args, **kwargs)

    def dumped(result, **options):
        return source_mapper.SourceMapDump("map", str(result), "mine")

    own = source_mapper.Pass("mine", compiled, dumped)
    source_mapper.register_pass(own)
    assert source_mapper.all_passes() == [own] == source_mapper.filter_passes("mi")
    assert source_mapper.filter_passes("ine") == []
    with pytest.raises(ValueError, match="already"):
        source_mapper.register_pass(own)
    dumps = source_mapper.generate_sourcemaps(lambda x, y: x + y, [own], level=3)(1, y=2)
    assert dumps == [("map", "3", "mine")]
    assert seen == [((1,), {"y": 2}, {"level": 3})]


def test_compilation_in_an_environment(monkeypatch):
    monkeypatch.delenv("JITNEY_TEST_FLAG", raising=False)
    seen = []

    def f(x):
        seen.append(os.environ["JITNEY_TEST_FLAG"])
        return x

    assert source_mapper.compile_with_env(f, (1.0,), {}, {"JITNEY_TEST_FLAG": "on"}, {}) is None
    assert seen == ["on"]
    assert "JITNEY_TEST_FLAG" not in os.environ


@pytest.mark.parametrize("name", ["hlo:original", "hlo:optimized"])
def test_operations_are_mapped_to_their_lines(name):
    (own,) = source_mapper.filter_passes(f"{name}$")
    assert source_mapper.hlo.HloPass(name).value == own.name
    f = straight(jitney)
    (dump,) = source_mapper.generate_sourcemaps(f, [own])(jitney.numpy.arange(4.0))
    first = f.__code__.co_firstlineno
    texts = dump.generated_code.splitlines()
    rows = {texts[line].split()[2]: row for line, _, _, row, _ in positions(dump, first)}
    assert (rows["sin"], rows["mul"], rows["exp"]) == (0, 1, 1)
    assert dump.pass_name == name and not any("#" in text for text in texts)
    assert texts[0].startswith("module f(") and len(dump.source_map.mappings) == len(texts) + 1


def test_operations_without_a_place_have_no_segment():
    text = "module f() {\n  %0 = sin p0\n  %1 = cos p0 # a.py:3:5\n}"
    parsed = source_mapper.hlo.parse_hlo_dump(text)
    assert parsed.sources == ["a.py"] and parsed.mappings == [[], [], [(2, 0, 2, 5)], [], []]
