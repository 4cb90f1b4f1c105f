"""Each pass compiles a function in a folder of its own, and its dumps come in order."""

import os

from jitney.experimental.source_mapper.common import Pass, SourceMapDump
from jitney.experimental.source_mapper.generate_map import generate_sourcemaps
from jitney.experimental.source_mapper.sourcemap import SourceMap


def test_passes_run_in_order_with_arguments_and_options():
    folders = []

    def compiled(folder, f, args, kwargs, *, depth):
        assert os.listdir(folder) == []
        folders.append(folder)
        return f(*args, **kwargs) + depth

    def dumped(program, *, depth):
        return SourceMapDump(SourceMap(3, [], [], [], []), str(program), f"depth {depth}")

    passes = [Pass("first", compiled, dumped), Pass("second", compiled, dumped)]
    run = generate_sourcemaps(lambda x, y: x * y, passes, depth=5)
    dumps = run(3, y=4)
    assert [d.generated_code for d in dumps] == ["17", "17"]
    assert [d.pass_name for d in dumps] == ["depth 5", "depth 5"]
    assert [os.path.basename(f) for f in folders] == ["first", "second"]
    assert not any(map(os.path.exists, folders))
    assert generate_sourcemaps(len, [])([]) == []
