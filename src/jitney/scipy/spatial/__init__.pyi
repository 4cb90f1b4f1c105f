"""Rotations in space."""

from jitney.scipy.spatial import transform as transform
