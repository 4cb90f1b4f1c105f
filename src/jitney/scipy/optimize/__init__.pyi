"""Minimization."""

from jitney.scipy.optimize.bfgs import OptimizeResults as OptimizeResults
from jitney.scipy.optimize.bfgs import minimize as minimize
