"""Clusters."""

from jitney.scipy.cluster import vq as vq
