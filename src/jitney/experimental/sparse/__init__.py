"""`jax.experimental.sparse`: sparse arrays, operations on them, and `sparsify`."""

from jitney.core.util.lazy import listing
from jitney.experimental.sparse import ad as ad
from jitney.experimental.sparse import api as api
from jitney.experimental.sparse import bcoo as bcoo
from jitney.experimental.sparse import bcsr as bcsr
from jitney.experimental.sparse import coo as coo
from jitney.experimental.sparse import csr as csr
from jitney.experimental.sparse import linalg as linalg
from jitney.experimental.sparse import random as random
from jitney.experimental.sparse import transform as transform
from jitney.experimental.sparse import util as util
from jitney.experimental.sparse import operators as _operators  # importing it sets the operators
from jitney.experimental.sparse.ad import grad as grad
from jitney.experimental.sparse.ad import jacfwd as jacfwd
from jitney.experimental.sparse.ad import jacobian as jacobian
from jitney.experimental.sparse.ad import jacrev as jacrev
from jitney.experimental.sparse.ad import value_and_grad as value_and_grad
from jitney.experimental.sparse.api import empty as empty
from jitney.experimental.sparse.api import eye as eye
from jitney.experimental.sparse.api import todense as todense
from jitney.experimental.sparse.api import todense_p as todense_p
from jitney.experimental.sparse.base import JAXSparse as JAXSparse
from jitney.experimental.sparse.bcoo.conversion import bcoo_extract_p as bcoo_extract_p
from jitney.experimental.sparse.bcoo.conversion import bcoo_fromdense_p as bcoo_fromdense_p
from jitney.experimental.sparse.bcoo.conversion import bcoo_todense_p as bcoo_todense_p
from jitney.experimental.sparse.bcoo.convolution import (
    bcoo_conv_general_dilated as bcoo_conv_general_dilated,
)
from jitney.experimental.sparse.bcoo.dot import bcoo_dot_general as bcoo_dot_general
from jitney.experimental.sparse.bcoo.dot import bcoo_dot_general_sampled as bcoo_dot_general_sampled
from jitney.experimental.sparse.bcoo.elementwise import bcoo_multiply_dense as bcoo_multiply_dense
from jitney.experimental.sparse.bcoo.elementwise import bcoo_multiply_sparse as bcoo_multiply_sparse
from jitney.experimental.sparse.bcoo.matrix import BCOO as BCOO
from jitney.experimental.sparse.bcoo.matrix import bcoo_extract as bcoo_extract
from jitney.experimental.sparse.bcoo.matrix import bcoo_fromdense as bcoo_fromdense
from jitney.experimental.sparse.bcoo.matrix import bcoo_sort_indices as bcoo_sort_indices
from jitney.experimental.sparse.bcoo.matrix import bcoo_sum_duplicates as bcoo_sum_duplicates
from jitney.experimental.sparse.bcoo.matrix import bcoo_todense as bcoo_todense
from jitney.experimental.sparse.bcoo.matrix import bcoo_transpose as bcoo_transpose
from jitney.experimental.sparse.bcoo.matrix import bcoo_update_layout as bcoo_update_layout
from jitney.experimental.sparse.bcoo.order import bcoo_sort_indices_p as bcoo_sort_indices_p
from jitney.experimental.sparse.bcoo.order import bcoo_sum_duplicates_p as bcoo_sum_duplicates_p
from jitney.experimental.sparse.bcoo.order import bcoo_transpose_p as bcoo_transpose_p
from jitney.experimental.sparse.bcoo.products import bcoo_dot_general_p as bcoo_dot_general_p
from jitney.experimental.sparse.bcoo.products import (
    bcoo_dot_general_sampled_p as bcoo_dot_general_sampled_p,
)
from jitney.experimental.sparse.bcoo.products import bcoo_spdot_general_p as bcoo_spdot_general_p
from jitney.experimental.sparse.bcoo.structure import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from jitney.experimental.sparse.bcoo.structure import bcoo_concatenate as bcoo_concatenate
from jitney.experimental.sparse.bcoo.structure import bcoo_dynamic_slice as bcoo_dynamic_slice
from jitney.experimental.sparse.bcoo.structure import bcoo_gather as bcoo_gather
from jitney.experimental.sparse.bcoo.structure import bcoo_reduce_sum as bcoo_reduce_sum
from jitney.experimental.sparse.bcoo.structure import bcoo_reshape as bcoo_reshape
from jitney.experimental.sparse.bcoo.structure import bcoo_rev as bcoo_rev
from jitney.experimental.sparse.bcoo.structure import bcoo_slice as bcoo_slice
from jitney.experimental.sparse.bcoo.structure import bcoo_squeeze as bcoo_squeeze
from jitney.experimental.sparse.bcsr import BCSR as BCSR
from jitney.experimental.sparse.bcsr import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from jitney.experimental.sparse.bcsr import bcsr_concatenate as bcsr_concatenate
from jitney.experimental.sparse.bcsr import bcsr_dot_general as bcsr_dot_general
from jitney.experimental.sparse.bcsr import bcsr_dot_general_p as bcsr_dot_general_p
from jitney.experimental.sparse.bcsr import bcsr_extract as bcsr_extract
from jitney.experimental.sparse.bcsr import bcsr_extract_p as bcsr_extract_p
from jitney.experimental.sparse.bcsr import bcsr_fromdense as bcsr_fromdense
from jitney.experimental.sparse.bcsr import bcsr_fromdense_p as bcsr_fromdense_p
from jitney.experimental.sparse.bcsr import bcsr_sum_duplicates as bcsr_sum_duplicates
from jitney.experimental.sparse.bcsr import bcsr_todense as bcsr_todense
from jitney.experimental.sparse.bcsr import bcsr_todense_p as bcsr_todense_p
from jitney.experimental.sparse.coo import COO as COO
from jitney.experimental.sparse.coo import coo_fromdense as coo_fromdense
from jitney.experimental.sparse.coo import coo_fromdense_p as coo_fromdense_p
from jitney.experimental.sparse.coo import coo_matmat as coo_matmat
from jitney.experimental.sparse.coo import coo_matmat_p as coo_matmat_p
from jitney.experimental.sparse.coo import coo_matvec as coo_matvec
from jitney.experimental.sparse.coo import coo_matvec_p as coo_matvec_p
from jitney.experimental.sparse.coo import coo_todense as coo_todense
from jitney.experimental.sparse.coo import coo_todense_p as coo_todense_p
from jitney.experimental.sparse.csr import CSC as CSC
from jitney.experimental.sparse.csr import CSR as CSR
from jitney.experimental.sparse.csr import csr_fromdense as csr_fromdense
from jitney.experimental.sparse.csr import csr_fromdense_p as csr_fromdense_p
from jitney.experimental.sparse.csr import csr_matmat as csr_matmat
from jitney.experimental.sparse.csr import csr_matmat_p as csr_matmat_p
from jitney.experimental.sparse.csr import csr_matvec as csr_matvec
from jitney.experimental.sparse.csr import csr_matvec_p as csr_matvec_p
from jitney.experimental.sparse.csr import csr_todense as csr_todense
from jitney.experimental.sparse.csr import csr_todense_p as csr_todense_p
from jitney.experimental.sparse.random import random_bcoo as random_bcoo
from jitney.experimental.sparse.tracer import SparseTracer as SparseTracer
from jitney.experimental.sparse.transform import sparsify as sparsify
from jitney.experimental.sparse.util import CuSparseEfficiencyWarning as CuSparseEfficiencyWarning
from jitney.experimental.sparse.util import SparseEfficiencyError as SparseEfficiencyError
from jitney.experimental.sparse.util import SparseEfficiencyWarning as SparseEfficiencyWarning

__dir__ = listing(__name__)
