"""Names that public modules of JAX have because they import them, and their locations.

For example, `jax.experimental.ode.tree_map` is `jax.tree_util.tree_map`. Programs use such names
occasionally, and jitney's modules lack them because their imports differ. A row lists the names
that a public module takes from another module, in the format of `places.py`; ".util" is
`jax._src.util`. The table is loaded when a name is first looked up that a module does not have.
"""

from __future__ import annotations

import functools

from jitney.private import modules

_TREES = "jax.tree_util"
_SPARSE = "jax.experimental.sparse"
_CALLS = {
    "jitney.primitives.call.function_call": """create_call_primitive eval_jaxpr_transpose
        register_call_primitive_rules""",
}

# Public module -> source -> names; "a=b" is `b` of the source, renamed to `a`.
REEXPORTS: dict[str, dict[str, str]] = {
    "jax.ad_checkpoint": {"jax.extend.core.primitives": "name_p"},
    "jax.custom_derivatives": {"jitney.primitives.call.custom": "remat_opt_p"},
    "jax.example_libraries.optimizers": {
        ".util": "map=safe_map safe_map safe_zip unzip2 zip=safe_zip",
    },
    "jax.experimental.colocated_python.api": {
        "jax.experimental.colocated_python": "colocated_python colocated_python_class",
        "jax.experimental.colocated_python.func": "make_callable",
        "jax.experimental.colocated_python.obj": "wrap_class",
    },
    "jax.experimental.colocated_python.func": {
        "jax.extend.backend": "jax_register_backend_cache=register_backend_cache",
        ".traceback_util": "api_boundary",
        ".util": "wraps",
    },
    "jax.experimental.colocated_python.obj": {
        "jax.extend.backend": "register_cache=register_backend_cache",
        ".traceback_util": "api_boundary",
    },
    "jax.experimental.fused": {
        "jax": "typeof",
        "jax.api_util": "debug_info",
        _TREES: "tree_flatten tree_unflatten",
        ".util": """map=safe_map safe_map safe_zip unzip2 weakref_lru_cache zip=safe_zip""",
        "builtins": "unsafe_map=map unsafe_zip=zip",
    },
    "jax.experimental.jet": {
        _TREES: "register_pytree_node tree_flatten tree_structure tree_unflatten treedef_is_leaf",
        ".util": "safe_zip unzip2 weakref_lru_cache",
    },
    "jax.experimental.multihost_utils": {
        "jax": "P",
        _TREES: "tree_flatten tree_unflatten",
        ".util": "safe_zip",
    },
    "jax.experimental.ode": {
        _TREES: "tree_leaves tree_map",
        ".numpy.util": "promote_dtypes_inexact",
        ".util": "map=safe_map safe_map safe_zip zip=safe_zip",
    },
    "jax.experimental.rnn": {"jax": "Array custom_vjp"},
    "jax.experimental.serialize_executable": {"__future__": "annotations"},
    "jax.experimental.sparse.ad": {
        ".traceback_util": "api_boundary",
        ".util": "safe_zip split_list",
    },
    "jax.experimental.sparse.api": {"jax": "Array", "jax.typing": "DTypeLike"},
    "jax.experimental.sparse.bcoo": {
        "__future__": "annotations",
        "jax": "Array vmap",
        "jax.lax": "DotDimensionNumbers GatherDimensionNumbers GatherScatterMode",
        "jax.typing": "ArrayLike DTypeLike",
        _SPARSE: "JAXSparse",
        f"{_SPARSE}.util": """CuSparseEfficiencyWarning Shape SparseEfficiencyError
            SparseEfficiencyWarning SparseInfo nfold_vmap""",
        ".lax.lax": "ranges_like remaining",
        ".util": "canonicalize_axis safe_zip split_list unzip2",
    },
    "jax.experimental.sparse.bcsr": {
        "jax.lax": "DotDimensionNumbers",
        "jax.typing": "ArrayLike DTypeLike",
        f"{_SPARSE}.util": "CuSparseEfficiencyWarning SparseEfficiencyWarning",
        ".util": "safe_zip split_list",
    },
    "jax.experimental.sparse.coo": {
        "jax": "Array",
        "jax.typing": "ArrayLike DTypeLike",
        f"{_SPARSE}.util": "CuSparseEfficiencyWarning",
    },
    "jax.experimental.sparse.csr": {
        "jax": "Array",
        "jax.typing": "DTypeLike",
        f"{_SPARSE}.coo": "COOInfo",
        f"{_SPARSE}.util": "CuSparseEfficiencyWarning",
    },
    "jax.experimental.sparse.random": {
        "jax": "Array",
        "jax.typing": "DTypeLike",
        ".util": "split_list",
    },
    "jax.experimental.sparse.test_util": {
        "__future__": "annotations",
        ".util": "safe_zip split_list",
    },
    "jax.experimental.sparse.transform": {
        "jax.api_util": "flatten_fun_nokwargs",
        _SPARSE: "BCOO BCSR bcoo_multiply_dense bcoo_multiply_sparse",
        _TREES: "tree_flatten tree_map tree_unflatten",
        ".util": "safe_map safe_zip split_list",
    },
    "jax.experimental.sparse.util": {
        "jax": "Array",
        "jax.lax": "DotDimensionNumbers",
        ".api_util": "flatten_axes",
        ".util": "safe_zip",
    },
    "jax.profiler": {
        "jitney.api.debugging.memory_profile": "device_memory_profile save_device_memory_profile",
        "jitney.core.profiling.profile_data": "ProfileData ProfileEvent ProfileLine ProfilePlane",
    },
    "jax.extend.core": _CALLS,
    "jax.extend.core.primitives": _CALLS,
    "jax.interpreters.ad": {"jitney.transforms.transpose": "backward_pass"},
}


@functools.cache
def _places(module: str) -> dict[str, str]:
    """Returns a dict from names that a public module of JAX imports to their "module:name"."""
    return modules.as_places(REEXPORTS.get(module, {}))


def find(module: str, name: str) -> object:
    """Returns the object that the public JAX module `module` imports as `name`, or None."""
    place = _places(module).get(name)
    if place is None:
        return None
    owner, _, attribute = place.partition(":")
    return modules.part_of(owner, attribute)
