"""Convolutions, trends, spectra."""

from jitney.scipy.signal.convolutions import convolve as convolve
from jitney.scipy.signal.convolutions import convolve2d as convolve2d
from jitney.scipy.signal.convolutions import correlate as correlate
from jitney.scipy.signal.convolutions import correlate2d as correlate2d
from jitney.scipy.signal.convolutions import fftconvolve as fftconvolve
from jitney.scipy.signal.short_time import istft as istft
from jitney.scipy.signal.short_time import stft as stft
from jitney.scipy.signal.spectra import csd as csd
from jitney.scipy.signal.spectra import welch as welch
from jitney.scipy.signal.trends import detrend as detrend
