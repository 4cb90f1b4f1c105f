"""Small optimizers and neural networks, to start from."""

from jitney.example_libraries import optimizers as optimizers
from jitney.example_libraries import stax as stax
