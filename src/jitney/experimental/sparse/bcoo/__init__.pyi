"""`jax.experimental.sparse.bcoo`: batched coordinates."""

from jitney.experimental.sparse.bcoo.conversion import bcoo_extract_p as bcoo_extract_p
from jitney.experimental.sparse.bcoo.conversion import bcoo_fromdense_p as bcoo_fromdense_p
from jitney.experimental.sparse.bcoo.conversion import bcoo_todense_p as bcoo_todense_p
from jitney.experimental.sparse.bcoo.convolution import bcoo_conv_general_dilated as bcoo_conv_general_dilated  # fmt: skip
from jitney.experimental.sparse.bcoo.dot import bcoo_dot_general as bcoo_dot_general
from jitney.experimental.sparse.bcoo.dot import bcoo_dot_general_sampled as bcoo_dot_general_sampled
from jitney.experimental.sparse.bcoo.elementwise import bcoo_multiply_dense as bcoo_multiply_dense
from jitney.experimental.sparse.bcoo.elementwise import bcoo_multiply_sparse as bcoo_multiply_sparse
from jitney.experimental.sparse.bcoo.layout import CUSPARSE_DATA_DTYPES as CUSPARSE_DATA_DTYPES
from jitney.experimental.sparse.bcoo.layout import CUSPARSE_INDEX_DTYPES as CUSPARSE_INDEX_DTYPES
from jitney.experimental.sparse.bcoo.layout import BCOOProperties as BCOOProperties
from jitney.experimental.sparse.bcoo.layout import Buffer as Buffer
from jitney.experimental.sparse.bcoo.matrix import BCOO as BCOO
from jitney.experimental.sparse.bcoo.matrix import bcoo_eliminate_zeros as bcoo_eliminate_zeros
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
from jitney.experimental.sparse.bcoo.products import bcoo_dot_general_sampled_p as bcoo_dot_general_sampled_p  # fmt: skip
from jitney.experimental.sparse.bcoo.products import bcoo_spdot_general_p as bcoo_spdot_general_p
from jitney.experimental.sparse.spmv import coo_spmm_p as coo_spmm_p
from jitney.experimental.sparse.spmv import coo_spmv_p as coo_spmv_p
from jitney.experimental.sparse.bcoo.structure import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from jitney.experimental.sparse.bcoo.structure import bcoo_concatenate as bcoo_concatenate
from jitney.experimental.sparse.bcoo.structure import bcoo_dynamic_slice as bcoo_dynamic_slice
from jitney.experimental.sparse.bcoo.structure import bcoo_gather as bcoo_gather
from jitney.experimental.sparse.bcoo.structure import bcoo_reduce_sum as bcoo_reduce_sum
from jitney.experimental.sparse.bcoo.structure import bcoo_reshape as bcoo_reshape
from jitney.experimental.sparse.bcoo.structure import bcoo_rev as bcoo_rev
from jitney.experimental.sparse.bcoo.structure import bcoo_slice as bcoo_slice
from jitney.experimental.sparse.bcoo.structure import bcoo_squeeze as bcoo_squeeze
