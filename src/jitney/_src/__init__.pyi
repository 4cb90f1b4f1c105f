from jitney._src import ad_util as ad_util
from jitney._src import api_util as api_util
from jitney._src import checkify as checkify
from jitney._src import core as core
from jitney._src import dispatch as dispatch
from jitney._src import distributed as distributed
from jitney._src import dtypes as dtypes
from jitney._src import flatten_util as flatten_util
from jitney._src import state as state
from jitney._src import traceback_util as traceback_util
from jitney._src import tree_util as tree_util
from jitney._src import xla_bridge as xla_bridge
from jitney.runtime import compiling as _compiling

compiler = _compiling
