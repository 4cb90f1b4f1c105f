"""Lines of a jaxpr are mapped to the lines that recorded their equations."""

import inspect

import jitney.numpy as jnp
from jitney import lax
from jitney.experimental.source_mapper.jaxpr import compile_jaxpr, make_jaxpr_dump


def straight(x):
    y = jnp.sin(x)
    z = jnp.exp(y) + jnp.cos(y)
    return z * 2


def looped(x):
    return lax.scan(lambda c, r: (jnp.cos(c), None), x, None, length=2)[0]


def positions(f):
    """(line of text, its file, offset of its line from the function's) of all segments."""
    dump = make_jaxpr_dump(compile_jaxpr("", f, (1.0,), {}))
    first = inspect.getsourcelines(f)[1] - 1
    lines = dump.generated_code.splitlines()
    source = line = 0
    found = []
    for text, group in zip(lines, dump.source_map.mappings, strict=False):
        for segment in group:
            source, line = source + segment[1], line + segment[2]
            assert text[: segment[0]].isspace() or segment[0] == 0
            found.append((text.strip(), dump.source_map.sources[source], line - first))
    assert len(dump.source_map.mappings) == len(lines) + 1 and "#" not in dump.generated_code
    return found


def test_equations_are_mapped_to_their_lines():
    found = positions(straight)
    assert [(text.split(" = ")[1].split()[0], offset) for text, _, offset in found] == [
        ("sin", 1),
        ("exp", 2),
        ("cos", 2),
        ("add", 2),
        ("mul", 3),
    ]
    assert {file for _, file, _ in found} == {__file__}


def test_lines_of_an_equation_are_mapped_to_it_and_inner_ones_to_theirs():
    found = positions(looped)
    assert all(file == __file__ and offset == 1 for _, file, offset in found)
    assert any("scan[" in text for text, *_ in found) and any("cos" in text for text, *_ in found)
