"""`jax.experimental.source_mapper`: maps lines of compiled programs to lines of source files.

    dump, = generate_sourcemaps(f, filter_passes("jaxpr"))(x)
    dump.generated_code       # the program
    dump.source_map.to_json() # for editors and browsers: https://tc39.es/ecma426

A pass is a stage of compilation: "jaxpr", "hlo:original" (the tensor IR as lowered) or
"hlo:optimized" (the tensor IR after optimization). Libraries can register further passes.
"""

from jitney.core.util.lazy import listing
from jitney.experimental.source_mapper import common as common, generate_map as generate_map
from jitney.experimental.source_mapper import hlo as hlo, jaxpr as jaxpr
from jitney.experimental.source_mapper.common import (
    Pass as Pass,
    SourceMapDump as SourceMapDump,
    all_passes as all_passes,
    compile_with_env as compile_with_env,
    filter_passes as filter_passes,
    register_pass as register_pass,
)
from jitney.experimental.source_mapper.generate_map import (
    generate_sourcemaps as generate_sourcemaps,
)
from jitney.experimental.source_mapper.jaxpr import canonicalize_filename as canonicalize_filename
from jitney.experimental.source_mapper.sourcemap import (
    MappingsGenerator as MappingsGenerator,
    SourceMap as SourceMap,
)

__dir__ = listing(__name__)
