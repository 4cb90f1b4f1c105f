"""Slices, gathers and scatters, and their derivatives.

The derivatives of gathers are scatters and vice versa, so all their rules are set when any of these
modules is imported.
"""

from jitney.primitives.indexing import derivatives as derivatives
