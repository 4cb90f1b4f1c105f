"""`jax.lax`: the primitives as functions, with no promotion of dtypes and no broadcasting of ranks."""

from jitney.primitives.elementwise.accuracy import AccuracyMode as AccuracyMode
from jitney.primitives.elementwise.accuracy import Tolerance as Tolerance
from jitney.primitives.elementwise.unary import abs as abs
from jitney.primitives.elementwise.unary import abs_p as abs_p
from jitney.primitives.elementwise.unary import acos as acos
from jitney.primitives.elementwise.unary import acos_p as acos_p
from jitney.primitives.elementwise.unary import acosh as acosh
from jitney.primitives.elementwise.unary import acosh_p as acosh_p
from jitney.primitives.elementwise.unary import asin as asin
from jitney.primitives.elementwise.unary import asin_p as asin_p
from jitney.primitives.elementwise.unary import asinh as asinh
from jitney.primitives.elementwise.unary import asinh_p as asinh_p
from jitney.primitives.elementwise.unary import atan as atan
from jitney.primitives.elementwise.unary import atan_p as atan_p
from jitney.primitives.elementwise.unary import atanh as atanh
from jitney.primitives.elementwise.unary import atanh_p as atanh_p
from jitney.primitives.elementwise.unary import bitwise_not as bitwise_not
from jitney.primitives.elementwise.unary import cbrt as cbrt
from jitney.primitives.elementwise.unary import cbrt_p as cbrt_p
from jitney.primitives.elementwise.unary import ceil as ceil
from jitney.primitives.elementwise.unary import ceil_p as ceil_p
from jitney.primitives.elementwise.unary import clz as clz
from jitney.primitives.elementwise.unary import clz_p as clz_p
from jitney.primitives.elementwise.unary import conj as conj
from jitney.primitives.elementwise.unary import conj_p as conj_p
from jitney.primitives.elementwise.unary import cos as cos
from jitney.primitives.elementwise.unary import cos_p as cos_p
from jitney.primitives.elementwise.unary import cosh as cosh
from jitney.primitives.elementwise.unary import cosh_p as cosh_p
from jitney.primitives.elementwise.unary import exp as exp
from jitney.primitives.elementwise.unary import exp2 as exp2
from jitney.primitives.elementwise.unary import exp2_p as exp2_p
from jitney.primitives.elementwise.unary import exp_p as exp_p
from jitney.primitives.elementwise.unary import expm1 as expm1
from jitney.primitives.elementwise.unary import expm1_p as expm1_p
from jitney.primitives.elementwise.unary import floor as floor
from jitney.primitives.elementwise.unary import floor_p as floor_p
from jitney.primitives.elementwise.unary import imag as imag
from jitney.primitives.elementwise.unary import imag_p as imag_p
from jitney.primitives.elementwise.unary import integer_pow as integer_pow
from jitney.primitives.elementwise.unary import integer_pow_p as integer_pow_p
from jitney.primitives.elementwise.unary import is_finite as is_finite
from jitney.primitives.elementwise.unary import is_finite_p as is_finite_p
from jitney.primitives.elementwise.unary import log as log
from jitney.primitives.elementwise.unary import log1p as log1p
from jitney.primitives.elementwise.unary import log1p_p as log1p_p
from jitney.primitives.elementwise.unary import log_p as log_p
from jitney.primitives.elementwise.unary import logistic as logistic
from jitney.primitives.elementwise.unary import logistic_p as logistic_p
from jitney.primitives.elementwise.unary import neg as neg
from jitney.primitives.elementwise.unary import neg_p as neg_p
from jitney.primitives.elementwise.unary import not_p as not_p
from jitney.primitives.elementwise.unary import population_count as population_count
from jitney.primitives.elementwise.unary import population_count_p as population_count_p
from jitney.primitives.elementwise.unary import real as real
from jitney.primitives.elementwise.unary import real_p as real_p
from jitney.primitives.elementwise.unary import reciprocal as reciprocal
from jitney.primitives.elementwise.unary import rsqrt as rsqrt
from jitney.primitives.elementwise.unary import rsqrt_p as rsqrt_p
from jitney.primitives.elementwise.unary import sign as sign
from jitney.primitives.elementwise.unary import sign_p as sign_p
from jitney.primitives.elementwise.unary import sin as sin
from jitney.primitives.elementwise.unary import sin_p as sin_p
from jitney.primitives.elementwise.unary import sinh as sinh
from jitney.primitives.elementwise.unary import sinh_p as sinh_p
from jitney.primitives.elementwise.unary import sqrt as sqrt
from jitney.primitives.elementwise.unary import sqrt_p as sqrt_p
from jitney.primitives.elementwise.unary import square as square
from jitney.primitives.elementwise.unary import square_p as square_p
from jitney.primitives.elementwise.unary import tan as tan
from jitney.primitives.elementwise.unary import tan_p as tan_p
from jitney.primitives.elementwise.unary import tanh as tanh
from jitney.primitives.elementwise.unary import tanh_p as tanh_p
from jitney.primitives.elementwise.binary import add as add
from jitney.primitives.elementwise.binary import add_p as add_p
from jitney.primitives.elementwise.binary import and_p as and_p
from jitney.primitives.elementwise.binary import atan2 as atan2
from jitney.primitives.elementwise.binary import atan2_p as atan2_p
from jitney.primitives.elementwise.binary import bitwise_and as bitwise_and
from jitney.primitives.elementwise.binary import bitwise_or as bitwise_or
from jitney.primitives.elementwise.binary import bitwise_xor as bitwise_xor
from jitney.primitives.elementwise.binary import complex as complex
from jitney.primitives.elementwise.binary import complex_p as complex_p
from jitney.primitives.elementwise.binary import div as div
from jitney.primitives.elementwise.binary import div_p as div_p
from jitney.primitives.elementwise.binary import max as max
from jitney.primitives.elementwise.binary import max_p as max_p
from jitney.primitives.elementwise.binary import min as min
from jitney.primitives.elementwise.binary import min_p as min_p
from jitney.primitives.elementwise.binary import mul as mul
from jitney.primitives.elementwise.binary import mul_p as mul_p
from jitney.primitives.elementwise.binary import mulhi as mulhi
from jitney.primitives.elementwise.binary import mulhi_p as mulhi_p
from jitney.primitives.elementwise.binary import nextafter as nextafter
from jitney.primitives.elementwise.binary import nextafter_p as nextafter_p
from jitney.primitives.elementwise.binary import or_p as or_p
from jitney.primitives.elementwise.binary import pow as pow
from jitney.primitives.elementwise.binary import pow_p as pow_p
from jitney.primitives.elementwise.binary import rem as rem
from jitney.primitives.elementwise.binary import rem_p as rem_p
from jitney.primitives.elementwise.binary import shift_left as shift_left
from jitney.primitives.elementwise.binary import shift_left_p as shift_left_p
from jitney.primitives.elementwise.binary import shift_right_arithmetic as shift_right_arithmetic
from jitney.primitives.elementwise.binary import (
    shift_right_arithmetic_p as shift_right_arithmetic_p,
)
from jitney.primitives.elementwise.binary import shift_right_logical as shift_right_logical
from jitney.primitives.elementwise.binary import shift_right_logical_p as shift_right_logical_p
from jitney.primitives.elementwise.binary import sub as sub
from jitney.primitives.elementwise.binary import sub_p as sub_p
from jitney.primitives.elementwise.binary import xor_p as xor_p
from jitney.primitives.elementwise.compare import eq as eq
from jitney.primitives.elementwise.compare import eq_p as eq_p
from jitney.primitives.elementwise.compare import eq_to_p as eq_to_p
from jitney.primitives.elementwise.compare import ge as ge
from jitney.primitives.elementwise.compare import ge_p as ge_p
from jitney.primitives.elementwise.compare import gt as gt
from jitney.primitives.elementwise.compare import gt_p as gt_p
from jitney.primitives.elementwise.compare import le as le
from jitney.primitives.elementwise.compare import le_p as le_p
from jitney.primitives.elementwise.compare import le_to_p as le_to_p
from jitney.primitives.elementwise.compare import lt as lt
from jitney.primitives.elementwise.compare import lt_p as lt_p
from jitney.primitives.elementwise.compare import lt_to_p as lt_to_p
from jitney.primitives.elementwise.compare import ne as ne
from jitney.primitives.elementwise.compare import ne_p as ne_p
from jitney.primitives.elementwise.select import RoundingMethod as RoundingMethod
from jitney.primitives.elementwise.select import clamp as clamp
from jitney.primitives.elementwise.select import clamp_p as clamp_p
from jitney.primitives.elementwise.select import round as round
from jitney.primitives.elementwise.select import round_p as round_p
from jitney.primitives.elementwise.select import select as select
from jitney.primitives.elementwise.select import select_n as select_n
from jitney.primitives.elementwise.select import select_n_p as select_n_p
from jitney.primitives.elementwise.convert import bitcast_convert_type as bitcast_convert_type
from jitney.primitives.elementwise.convert import bitcast_convert_type_p as bitcast_convert_type_p
from jitney.primitives.elementwise.convert import convert_element_type as convert_element_type
from jitney.primitives.elementwise.convert import convert_element_type_p as convert_element_type_p
from jitney.primitives.elementwise.convert import reduce_precision as reduce_precision
from jitney.primitives.elementwise.convert import reduce_precision_p as reduce_precision_p
from jitney.primitives.elementwise.special import bessel_i0e as bessel_i0e
from jitney.primitives.elementwise.special import bessel_i0e_p as bessel_i0e_p
from jitney.primitives.elementwise.special import bessel_i1e as bessel_i1e
from jitney.primitives.elementwise.special import bessel_i1e_p as bessel_i1e_p
from jitney.primitives.elementwise.special import betainc as betainc
from jitney.primitives.elementwise.special import digamma as digamma
from jitney.primitives.elementwise.special import digamma_p as digamma_p
from jitney.primitives.elementwise.special import erf as erf
from jitney.primitives.elementwise.special import erf_inv as erf_inv
from jitney.primitives.elementwise.special import erf_inv_p as erf_inv_p
from jitney.primitives.elementwise.special import erf_p as erf_p
from jitney.primitives.elementwise.special import erfc as erfc
from jitney.primitives.elementwise.special import erfc_p as erfc_p
from jitney.primitives.elementwise.special import igamma as igamma
from jitney.primitives.elementwise.special import igamma_grad_a as igamma_grad_a
from jitney.primitives.elementwise.special import igamma_grad_a_p as igamma_grad_a_p
from jitney.primitives.elementwise.special import igamma_p as igamma_p
from jitney.primitives.elementwise.special import igammac as igammac
from jitney.primitives.elementwise.special import igammac_p as igammac_p
from jitney.primitives.elementwise.special import lgamma as lgamma
from jitney.primitives.elementwise.special import lgamma_p as lgamma_p
from jitney.primitives.elementwise.special import polygamma as polygamma
from jitney.primitives.elementwise.special import polygamma_p as polygamma_p
from jitney.primitives.elementwise.special import random_gamma_grad as random_gamma_grad
from jitney.primitives.elementwise.special import (
    regularized_incomplete_beta_p as regularized_incomplete_beta_p,
)
from jitney.primitives.elementwise.special import zeta as zeta
from jitney.primitives.elementwise.special import zeta_p as zeta_p
from jitney.primitives.call.composite import composite as composite
from jitney.primitives.array.sinks import dce_sink as dce_sink
from jitney.primitives.array.sinks import dce_sink_p as dce_sink_p
from jitney.primitives.array.tokens import after_all as after_all
from jitney.primitives.array.tokens import after_all_p as after_all_p
from jitney.primitives.array.tokens import create_token as create_token
from jitney.primitives.array.tokens import create_token_p as create_token_p
from jitney.primitives.array.placement import device_put_p as device_put_p
from jitney.primitives.array.placement import sharding_constraint_p as sharding_constraint_p
from jitney.core.dtypes import dtype as dtype
from jitney.primitives.random.bit_generator import RandomAlgorithm as RandomAlgorithm
from jitney.primitives.random.bit_generator import rng_bit_generator as rng_bit_generator
from jitney.primitives.random.bit_generator import rng_bit_generator_p as rng_bit_generator_p
from jitney.primitives.random.process_state import rng_uniform as rng_uniform
from jitney.primitives.random.process_state import rng_uniform_p as rng_uniform_p
from jitney.primitives.array.annotations import copy_p as copy_p
from jitney.api.device_put import with_sharding_constraint as with_sharding_constraint
from jitney.primitives.array.annotations import optimization_barrier as optimization_barrier
from jitney.primitives.array.annotations import optimization_barrier_p as optimization_barrier_p
from jitney.primitives.array.annotations import stage as stage
from jitney.primitives.array.annotations import stage_p as stage_p
from jitney.primitives.array.annotations import stop_gradient as stop_gradient
from jitney.primitives.array.annotations import stop_gradient_p as stop_gradient_p
from jitney.primitives.array.creation import broadcasted_iota as broadcasted_iota
from jitney.primitives.array.creation import empty as empty
from jitney.primitives.array.creation import full as full
from jitney.primitives.array.creation import full_like as full_like
from jitney.primitives.array.creation import iota as iota
from jitney.primitives.array.creation import iota_p as iota_p
from jitney.primitives.array.broadcasting import broadcast as broadcast
from jitney.primitives.array.broadcasting import broadcast_in_dim as broadcast_in_dim
from jitney.primitives.array.broadcasting import broadcast_in_dim_p as broadcast_in_dim_p
from jitney.primitives.array.broadcasting import broadcast_like as broadcast_like
from jitney.primitives.array.broadcasting import broadcast_shapes as broadcast_shapes
from jitney.primitives.array.broadcasting import broadcast_to_rank as broadcast_to_rank
from jitney.primitives.array.shape import collapse as collapse
from jitney.primitives.array.broadcasting import expand_dims as expand_dims
from jitney.primitives.array.shape import reshape as reshape
from jitney.primitives.array.shape import reshape_p as reshape_p
from jitney.primitives.array.shape import rev as rev
from jitney.primitives.array.shape import rev_p as rev_p
from jitney.primitives.array.shape import shape_as_value as shape_as_value
from jitney.primitives.array.shape import squeeze as squeeze
from jitney.primitives.array.shape import squeeze_p as squeeze_p
from jitney.primitives.array.shape import transpose as transpose
from jitney.primitives.array.shape import transpose_p as transpose_p
from jitney.primitives.array.concatenation import concatenate as concatenate
from jitney.primitives.array.concatenation import concatenate_p as concatenate_p
from jitney.primitives.array.concatenation import pad as pad
from jitney.primitives.array.concatenation import pad_p as pad_p
from jitney.primitives.array.concatenation import split as split
from jitney.primitives.array.concatenation import split_p as split_p
from jitney.primitives.array.concatenation import stack as stack
from jitney.primitives.array.concatenation import stack_p as stack_p
from jitney.primitives.array.concatenation import tile as tile
from jitney.primitives.array.concatenation import tile_p as tile_p
from jitney.primitives.array.concatenation import unstack as unstack
from jitney.primitives.array.concatenation import unstack_p as unstack_p
from jitney.lax.staged import dynamic_index_in_dim as dynamic_index_in_dim
from jitney.primitives.indexing.dynamic_slice import dynamic_slice as dynamic_slice
from jitney.primitives.indexing.dynamic_slice import dynamic_slice_in_dim as dynamic_slice_in_dim
from jitney.primitives.indexing.dynamic_slice import dynamic_slice_p as dynamic_slice_p
from jitney.lax.staged import dynamic_update_index_in_dim as dynamic_update_index_in_dim
from jitney.primitives.indexing.dynamic_slice import dynamic_update_slice as dynamic_update_slice
from jitney.primitives.indexing.dynamic_slice import (
    dynamic_update_slice_in_dim as dynamic_update_slice_in_dim,
)
from jitney.primitives.indexing.dynamic_slice import (
    dynamic_update_slice_p as dynamic_update_slice_p,
)
from jitney.primitives.indexing.slice import index_in_dim as index_in_dim
from jitney.primitives.indexing.slice import slice as slice
from jitney.primitives.indexing.slice import slice_in_dim as slice_in_dim
from jitney.primitives.indexing.slice import slice_p as slice_p
from jitney.primitives.indexing.gather import GatherDimensionNumbers as GatherDimensionNumbers
from jitney.primitives.indexing.gather import GatherScatterMode as GatherScatterMode
from jitney.primitives.indexing.gather import gather as gather
from jitney.primitives.indexing.gather import gather_p as gather_p
from jitney.primitives.indexing.gather import index_take as index_take
from jitney.primitives.indexing.scatter import ScatterDimensionNumbers as ScatterDimensionNumbers
from jitney.primitives.indexing.scatter import scatter as scatter
from jitney.primitives.indexing.scatter import scatter_add as scatter_add
from jitney.primitives.indexing.scatter import scatter_add_p as scatter_add_p
from jitney.primitives.indexing.scatter import scatter_apply as scatter_apply
from jitney.primitives.indexing.scatter import scatter_max as scatter_max
from jitney.primitives.indexing.scatter import scatter_max_p as scatter_max_p
from jitney.primitives.indexing.scatter import scatter_min as scatter_min
from jitney.primitives.indexing.scatter import scatter_min_p as scatter_min_p
from jitney.primitives.indexing.scatter import scatter_mul as scatter_mul
from jitney.primitives.indexing.scatter import scatter_mul_p as scatter_mul_p
from jitney.primitives.indexing.scatter import scatter_p as scatter_p
from jitney.primitives.indexing.scatter import scatter_sub as scatter_sub
from jitney.primitives.indexing.scatter import scatter_sub_p as scatter_sub_p
from jitney.primitives.reduction.reduce import argmax as argmax
from jitney.primitives.reduction.reduce import argmax_p as argmax_p
from jitney.primitives.reduction.reduce import argmin as argmin
from jitney.primitives.reduction.reduce import argmin_p as argmin_p
from jitney.primitives.reduction.reduce import reduce as reduce
from jitney.primitives.reduction.reduce import reduce_and as reduce_and
from jitney.primitives.reduction.reduce import reduce_and_p as reduce_and_p
from jitney.primitives.reduction.reduce import reduce_max as reduce_max
from jitney.primitives.reduction.reduce import reduce_max_p as reduce_max_p
from jitney.primitives.reduction.reduce import reduce_min as reduce_min
from jitney.primitives.reduction.reduce import reduce_min_p as reduce_min_p
from jitney.primitives.reduction.reduce import reduce_or as reduce_or
from jitney.primitives.reduction.reduce import reduce_or_p as reduce_or_p
from jitney.primitives.reduction.reduce import reduce_p as reduce_p
from jitney.primitives.reduction.reduce import reduce_prod as reduce_prod
from jitney.primitives.reduction.reduce import reduce_prod_p as reduce_prod_p
from jitney.primitives.reduction.reduce import reduce_sum as reduce_sum
from jitney.primitives.reduction.reduce import reduce_sum_p as reduce_sum_p
from jitney.primitives.reduction.reduce import reduce_xor as reduce_xor
from jitney.primitives.reduction.reduce import reduce_xor_p as reduce_xor_p
from jitney.primitives.reduction.cumulative import cumlogsumexp as cumlogsumexp
from jitney.primitives.reduction.cumulative import cumlogsumexp_p as cumlogsumexp_p
from jitney.primitives.reduction.cumulative import cummax as cummax
from jitney.primitives.reduction.cumulative import cummax_p as cummax_p
from jitney.primitives.reduction.cumulative import cummin as cummin
from jitney.primitives.reduction.cumulative import cummin_p as cummin_p
from jitney.primitives.reduction.cumulative import cumprod as cumprod
from jitney.primitives.reduction.cumulative import cumprod_p as cumprod_p
from jitney.primitives.reduction.cumulative import cumsum as cumsum
from jitney.primitives.reduction.cumulative import cumsum_p as cumsum_p
from jitney.primitives.linalg.dot import DotDimensionNumbers as DotDimensionNumbers
from jitney.primitives.linalg.precision import DotAlgorithm as DotAlgorithm
from jitney.primitives.linalg.precision import DotAlgorithmPreset as DotAlgorithmPreset
from jitney.primitives.linalg.precision import Precision as Precision
from jitney.primitives.linalg.precision import PrecisionLike as PrecisionLike
from jitney.primitives.linalg.dot import batch_matmul as batch_matmul
from jitney.primitives.linalg.dot import dot as dot
from jitney.primitives.linalg.dot import dot_general as dot_general
from jitney.primitives.linalg.dot import dot_general_p as dot_general_p
from jitney.primitives.linalg.ragged_dimensions import (
    RaggedDotDimensionNumbers as RaggedDotDimensionNumbers,
)
from jitney.primitives.linalg.ragged_dot import ragged_dot as ragged_dot
from jitney.primitives.linalg.ragged_dot import ragged_dot_general as ragged_dot_general
from jitney.primitives.linalg.ragged_dot import ragged_dot_general_p as ragged_dot_general_p
from jitney.primitives.linalg.scaled_dot import scaled_dot as scaled_dot
from jitney.lax.staged import fft as fft
from jitney.primitives.signal.fft import FftType as FftType
from jitney.primitives.signal.fft import fft_p as fft_p
from jitney.primitives.reduction.approx_top_k import approx_max_k as approx_max_k
from jitney.primitives.reduction.approx_top_k import approx_min_k as approx_min_k
from jitney.primitives.reduction.approx_top_k import approx_top_k_p as approx_top_k_p
from jitney.primitives.reduction.sort import sort as sort
from jitney.primitives.reduction.sort import sort_key_val as sort_key_val
from jitney.primitives.reduction.sort import sort_p as sort_p
from jitney.primitives.reduction.sort import top_k as top_k
from jitney.primitives.reduction.sort import top_k_p as top_k_p
from jitney.primitives.control.associative import associative_scan as associative_scan
from jitney.primitives.control.cond import cond as cond
from jitney.primitives.control.cond import cond_p as cond_p
from jitney.primitives.control.cond import switch as switch
from jitney.primitives.control.fori_loop import fori_loop as fori_loop
from jitney.primitives.control.while_loop import while_loop as while_loop
from jitney.primitives.control.while_loop import while_p as while_p
from jitney.primitives.control.mapping import map as map
from jitney.primitives.control.scan import scan as scan
from jitney.primitives.control.scan import scan_p as scan_p
from jitney.primitives.parallel.collectives import axis_index as axis_index
from jitney.primitives.parallel.collectives import axis_index_p as axis_index_p
from jitney.primitives.parallel.collectives import axis_size as axis_size
from jitney.primitives.parallel.collectives import pmax as pmax
from jitney.primitives.parallel.collectives import pmax_p as pmax_p
from jitney.primitives.parallel.collectives import pmean as pmean
from jitney.primitives.parallel.collectives import pmin as pmin
from jitney.primitives.parallel.collectives import pmin_p as pmin_p
from jitney.primitives.parallel.collectives import psum as psum
from jitney.primitives.parallel.collectives import psum_p as psum_p
from jitney.primitives.parallel.all_gather import all_gather as all_gather
from jitney.primitives.parallel.all_gather import all_gather_p as all_gather_p
from jitney.primitives.parallel.all_to_all import all_to_all as all_to_all
from jitney.primitives.parallel.all_to_all import all_to_all_p as all_to_all_p
from jitney.primitives.parallel.permute import pbroadcast as pbroadcast
from jitney.primitives.parallel.point_to_point import precv as precv
from jitney.primitives.parallel.point_to_point import psend as psend
from jitney.primitives.parallel.pvary import pcast as pcast
from jitney.primitives.parallel.ragged import ragged_all_to_all as ragged_all_to_all
from jitney.primitives.parallel.ragged import ragged_all_to_all_p as ragged_all_to_all_p
from jitney.primitives.parallel.permute import ppermute as ppermute
from jitney.primitives.parallel.permute import ppermute_p as ppermute_p
from jitney.primitives.parallel.permute import pshuffle as pshuffle
from jitney.primitives.parallel.all_gather import psum_scatter as psum_scatter
from jitney.primitives.parallel.all_to_all import pswapaxes as pswapaxes
from jitney.api.custom_root import custom_root as custom_root
from jitney.primitives.linalg.linear_solve import custom_linear_solve as custom_linear_solve
from jitney.primitives.linalg.linear_solve import linear_solve_p as linear_solve_p
from jitney.primitives.control.platform import platform_dependent as platform_dependent
from jitney.primitives.reduction.windows import padtype_to_pads as padtype_to_pads
from jitney.primitives.convolution.dimensions import ConvDimensionNumbers as ConvDimensionNumbers
from jitney.primitives.convolution.dimensions import (
    ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
)
from jitney.primitives.convolution.dimensions import (
    conv_dimension_numbers as conv_dimension_numbers,
)
from jitney.primitives.convolution.dimensions import (
    conv_general_permutations as conv_general_permutations,
)
from jitney.primitives.convolution.dimensions import (
    conv_general_shape_tuple as conv_general_shape_tuple,
)
from jitney.primitives.convolution.dimensions import conv_shape_tuple as conv_shape_tuple
from jitney.primitives.convolution.dimensions import (
    conv_transpose_shape_tuple as conv_transpose_shape_tuple,
)
from jitney.primitives.convolution.convolution import conv_general_dilated as conv_general_dilated
from jitney.primitives.convolution.convolution import (
    conv_general_dilated_p as conv_general_dilated_p,
)
from jitney.primitives.convolution.functions import conv as conv
from jitney.primitives.convolution.functions import conv_transpose as conv_transpose
from jitney.primitives.convolution.functions import (
    conv_with_general_padding as conv_with_general_padding,
)
from jitney.primitives.convolution.patches import (
    conv_general_dilated_local as conv_general_dilated_local,
)
from jitney.primitives.convolution.patches import (
    conv_general_dilated_patches as conv_general_dilated_patches,
)
from jitney.primitives.reduction.reduce_window import reduce_window as reduce_window
from jitney.primitives.reduction.windows import reduce_window_max_p as reduce_window_max_p
from jitney.primitives.reduction.windows import reduce_window_min_p as reduce_window_min_p
from jitney.primitives.reduction.reduce_window import reduce_window_p as reduce_window_p
from jitney.primitives.reduction.windows import (
    reduce_window_shape_tuple as reduce_window_shape_tuple,
)
from jitney.primitives.reduction.windows import reduce_window_sum_p as reduce_window_sum_p
from jitney.primitives.reduction.windows import select_and_gather_add_p as select_and_gather_add_p
from jitney.primitives.reduction.windows import select_and_scatter_add_p as select_and_scatter_add_p
from jitney.primitives.reduction.select_and_scatter import (
    select_and_scatter_p as select_and_scatter_p,
)
from jitney.lax import linalg as linalg
