"""Random numbers from explicit keys, bit for bit those of JAX."""

from jitney.primitives.random.prng import PRNGImpl as PRNGImpl
from jitney.random.discrete import categorical as categorical
from jitney.random.discrete import choice as choice
from jitney.random.discrete import permutation as permutation
from jitney.random.keys import PRNGKey as PRNGKey
from jitney.random.keys import clone as clone
from jitney.random.keys import fold_in as fold_in
from jitney.random.keys import key as key
from jitney.random.keys import key_data as key_data
from jitney.random.keys import key_dtype as key_dtype
from jitney.random.keys import key_impl as key_impl
from jitney.random.keys import split as split
from jitney.random.keys import wrap_key_data as wrap_key_data
from jitney.random.normals import cauchy as cauchy
from jitney.random.normals import exponential as exponential
from jitney.random.normals import gumbel as gumbel
from jitney.random.normals import laplace as laplace
from jitney.random.normals import logistic as logistic
from jitney.random.normals import normal as normal
from jitney.random.normals import truncated_normal as truncated_normal
from jitney.random.uniforms import bernoulli as bernoulli
from jitney.random.uniforms import bits as bits
from jitney.random.uniforms import rademacher as rademacher
from jitney.random.uniforms import randint as randint
from jitney.random.uniforms import uniform as uniform
