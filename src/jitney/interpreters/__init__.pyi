from jitney.interpreters import ad as ad
from jitney.interpreters import batching as batching
from jitney.interpreters import mlir as mlir
from jitney.interpreters import partial_eval as partial_eval
from jitney.interpreters import pxla as pxla
from jitney.interpreters import xla as xla
