"""jitney: JAX's programming model for CPUs, on a compiler of its own."""

from jitney import version, wiring
from jitney.core.diagnostics import tracebacks
from jitney.core.settings import environment
from jitney.core.util.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

environment.check()
wiring.install()
tracebacks.install()
del environment, tracebacks

__version__ = version.PACKAGE_VERSION
