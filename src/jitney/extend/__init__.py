"""`jax.extend`: access to internals, for libraries that extend JAX."""

from typing import TYPE_CHECKING

from jitney.core.util.lazy import listing, refusing
from jitney.extend import backend as backend
from jitney.extend import core as core
from jitney.extend import ifrt_programs as ifrt_programs
from jitney.extend import linear_util as linear_util
from jitney.extend import lowering as lowering
from jitney.extend import random as random
from jitney.extend import sharding as sharding
from jitney.extend import source_info_util as source_info_util

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
