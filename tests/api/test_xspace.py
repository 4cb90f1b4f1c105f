"""Profiles that JAX has written: XSpace messages, in binary and in text form."""

import json

import pytest
from tests.helpers.oracle import RealModule, answer

from jitney.experimental import profiler as hints
from jitney.profiler import ProfileData

theirs = RealModule("jax.profiler")

TEXT = r"""
# a comment
hostnames: "h"
planes {
  id: 1 name: "a"
  lines { id: 7 name: "l" display_name: "shown" timestamp_ns: 1000
    events { metadata_id: 1 offset_ps: 3500 duration_ps: 9000
      stats { metadata_id: 1 double_value: 2.5 } stats { metadata_id: 2 uint64_value: 5 }
      stats { metadata_id: 3 int64_value: -4 } stats { metadata_id: 4 str_value: "s\"\n\101" }
      stats { metadata_id: 5 bytes_value: "\x01" } stats { metadata_id: 6 ref_value: 1 } }
    events: < metadata_id: 2, num_occurrences: 3; >
    events { metadata_id: 9 offset_ps: -5 }
  }
  lines { timestamp_ns: 0 duration_ps: 5 }
  event_metadata { key: 1 value { id: 1 name: "q" display_name: "Q" } }
  event_metadata { key: 2 value { id: 2 } }
  stat_metadata { key: 1 value { id: 1 name: "d" } }
  stat_metadata { key: 2 value { id: 2 name: "u" } }
  stat_metadata { key: 3 value { id: 3 name: 'i' } }
  stat_metadata { key: 4 value { id: 4 name: "st" 'r' } }
  stat_metadata { key: 5 value { id: 5 name: "b" } }
  stat_metadata { key: 6 value { id: 6 name: "r" } }
  stats { metadata_id: 1 double_value: 1e3 }
  stats { metadata_id: 99 int64_value: 0x10 }
}
planes { name: "a" }
planes { name: "b" lines { name: "first" } lines { name: "second" } }
"""
SHORT = """planes { name: "a" lines { name: "l" timestamp_ns: 3
    events { metadata_id: 1 duration_ps: 9 } } }"""


def shown(data):
    return [
        [plane.name, [list(pair) for pair in plane.stats], [
            [line.name, [
                [e.name, e.start_ns, e.duration_ns, e.end_ns, [list(pair) for pair in e.stats]]
                for e in line.events
            ]]
            for line in plane.lines
        ]]
        for plane in data.planes
    ]  # fmt: skip


def test_texts_are_read_as_jax_does():
    expected = answer(lambda: shown(theirs.ProfileData.from_text_proto(TEXT)), TEXT)
    assert shown(ProfileData.from_text_proto(TEXT)) == expected
    data = ProfileData.text_proto_to_serialized_xspace(TEXT)
    assert shown(ProfileData.from_serialized_xspace(data)) == expected


@pytest.mark.parametrize("text", ["", SHORT, 'warnings: ["x", "y"]'])
def test_bytes_are_those_of_jax(text):
    expected = answer(lambda: list(theirs.ProfileData.text_proto_to_serialized_xspace(text)), text)
    assert list(ProfileData.text_proto_to_serialized_xspace(text)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('planes {\n nme: "a" }', "line 2 .* XPlane has no field 'nme'"),
        ("planes { name: 3 }", "holds a quoted string, but got '3'"),
        ('planes { id: "a" }', "holds a whole number"),
        ("planes { stats { double_value: x } }", "holds a number"),
        ("planes: 3", "holds a message"),
        ("planes {", "is missing at the end of XPlane"),
        ("errors: ['a'", "is missing after the values of errors"),
        ("errors: $", "unexpected"),
        ("}", "has no field '}'"),
    ],
)
def test_texts_that_are_no_profile(text, message):
    with pytest.raises(ValueError, match=message):
        ProfileData.from_text_proto(text)


@pytest.mark.parametrize(
    "data", [b"\x0a\x7f", b"zzzz", b"\x0a", b"\x08\x01\x0b", b"\x0a\x02\x12\xff"]
)
def test_bytes_that_are_no_profile(data):
    with pytest.raises(RuntimeError, match="from_serialized_xspace: the bytes are not"):
        ProfileData.from_serialized_xspace(data)
    with pytest.raises(TypeError, match="takes bytes, but got str"):
        ProfileData.from_serialized_xspace("planes")


def test_unknown_fields_are_left_out():
    data = b"\x78\x05\x7d\x00\x00\x00\x00" + ProfileData.text_proto_to_serialized_xspace(SHORT)
    assert shown(ProfileData.from_serialized_xspace(data)) == shown(
        ProfileData.from_text_proto(SHORT)
    )


def test_files_of_jax_and_their_events_for_viewers(tmp_path):
    path = tmp_path / "plugins" / "vm.xplane.pb"
    path.parent.mkdir()
    path.write_bytes(ProfileData.text_proto_to_serialized_xspace(TEXT))
    data = ProfileData.from_file(path)
    assert data.find_plane_with_name("b").name == "b" and data.find_plane_with_name("c") is None
    events = json.loads(data.as_text())["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    assert [e["name"] for e in spans] == ["q", "", ""] and spans[0]["ts"] == 1.003
    assert hints.get_profiled_instructions_proto(str(tmp_path)) == b""


def test_folders_without_a_profile(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(RuntimeError, match="get_profiled_instructions_proto"):
            hints.get_profiled_instructions_proto(folder)
    (tmp_path / "x.xplane.pb").write_bytes(b"zzzz")
    with pytest.raises(RuntimeError, match="the bytes are not"):
        hints.get_profiled_instructions_proto(tmp_path)
