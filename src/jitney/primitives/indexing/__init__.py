"""Slices, gathers and scatters, and their derivatives.

The derivatives of gathers are scatters, and vice versa, so importing any of these modules sets the
rules of both.
"""

from jitney.primitives.indexing import derivatives as derivatives
