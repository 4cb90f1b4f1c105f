"""SciPy's interface on jitney arrays."""

from jitney.scipy import special as special
