"""Source maps: numbers in base 64, segments relative to the previous ones, and JSON."""

import json

import pytest

from jitney.experimental.source_mapper import sourcemap
from jitney.experimental.source_mapper.sourcemap import MappingsGenerator, SourceMap


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "A"), (1, "C"), (-1, "D"), (15, "e"), (16, "gB"), (-16, "hB"), (511, "+f")],
)
def test_numbers_are_digits_of_five_bits_after_the_sign(number, text):
    assert sourcemap._encoded((number,)) == text
    assert list(sourcemap._decoded(text)) == [number]


def test_numbers_of_any_size_come_back():
    numbers = (0, 31, -32, 1023, -1024, 2**31, -(2**40) + 7)
    assert tuple(sourcemap._decoded(sourcemap._encoded(numbers))) == numbers


def test_segments_are_relative():
    generator = MappingsGenerator()
    with pytest.raises(RuntimeError, match="call new_group first"):
        generator.new_segment(0)
    generator.new_group()
    generator.new_segment(4, 0, 10, 2)
    generator.new_segment(9)
    generator.new_segment(12, 1, 8, 5, 3)
    generator.new_group()
    generator.new_segment(1, 1, 9, 5, 2)
    assert generator.mappings() == [
        [(4, 0, 10, 2), (5,), (3, 1, -2, 3, 3)],
        [(1, 0, 1, 0, -1)],
    ]


def test_maps_come_back_from_json():
    groups = [[(4, 0, 10, 2), (5,)], [], [(0, 1, -2, 3, 3)]]
    source_map = SourceMap(3, ["a.py", "b.py"], [], ["f"], groups)
    assert SourceMap.from_json(source_map.to_json()) == source_map
    fields = json.loads(source_map.to_json())
    assert fields["mappings"] == "IAUE,K;;ACFGG" and fields["sourcesContent"] == []
    with pytest.raises(KeyError, match="names"):
        SourceMap.from_json('{"version": 3, "sources": [], "sourcesContent": [], "mappings": ""}')
