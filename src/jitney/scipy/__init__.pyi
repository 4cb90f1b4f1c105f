"""SciPy's interface on jitney arrays."""

from jitney.scipy import cluster as cluster
from jitney.scipy import fft as fft
from jitney.scipy import integrate as integrate
from jitney.scipy import interpolate as interpolate
from jitney.scipy import linalg as linalg
from jitney.scipy import ndimage as ndimage
from jitney.scipy import optimize as optimize
from jitney.scipy import signal as signal
from jitney.scipy import sparse as sparse
from jitney.scipy import spatial as spatial
from jitney.scipy import special as special
from jitney.scipy import stats as stats
