"""SciPy's interface on jitney arrays."""

from jitney.scipy import fft as fft
from jitney.scipy import special as special
from jitney.scipy import stats as stats
