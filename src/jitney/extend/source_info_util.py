"""`jax.extend.source_info_util`: where operations come from, and which frames are the user's."""

from jitney.core.source_info import (
    SourceInfo as SourceInfo,
    current as current,
    register_exclusion as register_exclusion,
    summarize as summarize,
)

new_source_info = current
