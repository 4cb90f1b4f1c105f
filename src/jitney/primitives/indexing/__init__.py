"""Slices, gathers and scatters, and their derivatives.

The derivatives of gathers are scatters and the other way round: their rules are set when any of these
modules is imported.
"""

from jitney.primitives.indexing import derivatives as derivatives
