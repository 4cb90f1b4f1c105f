"""`jax.profiler.device_memory_profile`: live arrays, as a protocol buffer."""

import gzip

import pytest
from tests.helpers.oracle import answer, jax

import jitney
import jitney.numpy as jnp
from jitney import profiler


def varint(data, start):
    value = shift = 0
    while True:
        byte = data[start]
        value |= (byte & 127) << shift
        start, shift = start + 1, shift + 7
        if byte < 128:
            return value, start


def fields(data):
    """(number, value) of each field of a message: integers, and bytes."""
    start, found = 0, []
    while start < len(data):
        key, start = varint(data, start)
        value, start = varint(data, start)
        if key & 7 == 2:
            value, start = data[start : start + value], start + value
        found.append((key >> 3, value))
    return found


def numbers(data):
    start, found = 0, []
    while start < len(data):
        value, start = varint(data, start)
        found.append(value)
    return found


def samples(profile):
    """(names of sample types, samples as (functions, values, labels)) of a profile."""
    message = fields(gzip.decompress(profile))
    strings = [value.decode() for number, value in message if number == 6]
    functions = {dict(fields(v))[1]: strings[dict(fields(v))[2]] for n, v in message if n == 5}
    places = {}
    for number, value in message:
        if number == 4:
            place = dict(fields(value))
            places[place[1]] = functions[dict(fields(place[4]))[1]]
    types = [tuple(strings[v] for _, v in fields(x)) for n, x in message if n == 1]
    found = []
    for number, value in message:
        if number == 2:
            parts = fields(value)
            labels = dict(tuple(strings[w] for _, w in fields(v)) for n, v in parts if n == 3)
            (where,) = [v for n, v in parts if n == 1]
            (counts,) = [v for n, v in parts if n == 2]
            found.append(([places[k] for k in numbers(where)], numbers(counts), labels))
    return types, found


def test_live_arrays_are_samples():
    kept = [jnp.ones((1003, 7)) for _ in range(3)]
    _types, found = samples(profiler.device_memory_profile())
    (sample,) = [s for s in found if s[0] == ["float32[1003,7]"]]
    assert sample[1] == [3, 3 * 4 * 7021]
    assert sample[2] == {"kind": "buffer", "device": "cpu:0"}
    del kept[1:]
    _, found = samples(profiler.device_memory_profile("cpu"))
    assert [s[1] for s in found if s[0] == ["float32[1003,7]"]] == [[1, 4 * 7021]]


def test_form_is_that_of_jax():
    def use(package):
        array = package.numpy.ones((1003, 7))
        types, found = samples(package.profiler.device_memory_profile())
        buffers = [values for _, values, labels in found if labels["kind"] == "buffer"]
        return types, [1, array.nbytes] in buffers, sorted(found[-1][2])

    ours = use(jitney)
    types, is_found, _ = answer(lambda: use(jax))
    assert ours == (types, is_found, ["device", "kind"])
    with pytest.raises(RuntimeError, match="gpu"):
        profiler.device_memory_profile("gpu")


def test_files(tmp_path):
    array = jnp.ones((1003, 7))
    profiler.save_device_memory_profile(str(tmp_path / "memory.prof"))
    _, found = samples((tmp_path / "memory.prof").read_bytes())
    assert [s[1] for s in found if s[0] == [array.aval.str_short()]] == [[1, 4 * 7021]]
