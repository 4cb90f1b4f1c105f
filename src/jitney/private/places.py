"""Locations of names that are private in JAX, not public anywhere, and used by packages.

A row lists the names that a private module takes from a module of jitney: "a b=c" stands for the
name `a`, and for the name `c` renamed to `b`; "*" stands for all names of the module. Names are
added when packages are found to need them.
"""

from __future__ import annotations

_STAND_INS = "jitney.private.stand_ins"

# Private modules that are modules of jitney, because packages replace functions in them.
SAME: dict[str, str] = {"compiler": "jitney.runtime.compilation.compiling"}

_THREEFRY = {
    "jitney.primitives.random.generators": """threefry_fold_in=_threefry_fold_in
        threefry_random_bits=_threefry_bits threefry_seed=_threefry_seed
        threefry_split=_threefry_split""",
}

# Private module, without "jax._src." -> source -> names.
PLACES: dict[str, dict[str, str]] = {
    "ad_util": {
        "jitney.transforms.zero": "instantiate",
    },
    "api": {
        "jitney.api.autodiff.gradient": "_check_scalar",
        "jitney.api.autodiff.pullback": "DidntWant DontWant GradRef GradValue NotNeeded VJP",
        f"{_STAND_INS}.jacobians": """_check_input_dtype_grad=check_input_dtype_grad
            _check_input_dtype_jacfwd=check_input_dtype_jacfwd
            _check_input_dtype_jacrev=check_input_dtype_jacrev
            _check_output_dtype_grad=check_output_dtype_grad
            _check_output_dtype_jacfwd=check_output_dtype_jacfwd
            _check_output_dtype_jacrev=check_output_dtype_jacrev
            _jacfwd_unravel=jacfwd_unravel _jacrev_unravel=jacrev_unravel _jvp=jvp
            _std_basis=std_basis _vjp=vjp""",
    },
    "api_util": {
        "jitney.api.autodiff.differentiation": "check_callable",
        "jitney.api.jit.signature": "infer_argnums_and_argnames",
        "jitney.core.types.dtypes": "_dtype=dtype",
        "jitney.core.source.source_info": "fun_sourceinfo",
        f"{_STAND_INS}.callables": "fun_signature",
        f"{_STAND_INS}.arguments": """_ensure_index=ensure_index _ensure_index_tuple=ensure_index_tuple
            _ensure_str_tuple=ensure_str_tuple is_hashable""",
    },
    "array": {"jitney.runtime.arrays.array": "ArrayImpl"},
    "checkify": {
        "jitney.experimental.checkify.error": """DivisionByZeroError ErrorEffect FailedCheckError
            JaxException NaNError OOBError""",
    },
    "config": {f"{_STAND_INS}.settings": "*"},
    "core": {
        "jitney.core.diagnostics.errors": "check_integer_conversion check_scalar_conversion",
        "jitney": "MutableArray=Ref",  # JAX's name for it before 0.8
        "jitney.core.program.jaxpr": "JaxprEqnContext",
        "jitney.core.types.memory_space": "MemorySpace",
        "jitney.core.sharding_in_types.sums": "ShardingTypeError",
        "jitney.core.symbolic.expressions": "evaluate_shape is_symbolic_dim",
        "jitney.core.tracing.trace": """OpaqueTraceState escaped_tracer_error is_concrete
            trace_ctx=state trace_state_clean""",
        "jitney.core.recording.compat": "is_constant_dim is_constant_shape",
        "jitney.primitives.refs.lifetime": "mutable_array=new_ref new_ref",
        "jitney.runtime.execution.eager": "EvalTrace",
        f"{_STAND_INS}.shapes": """canonicalize_dim canonicalize_shape canonicalize_slice
            concrete_dim_or_error definitely_equal definitely_equal_shape dilate_dim dimension_as_value
            divide_shape_sizes identity is_dim is_empty_shape stride_dim typecheck typecompat
            typematch""",
    },
    "dispatch": {"jitney.api.debugging.environment": "wait_for_tokens=effects_barrier"},
    "distributed": {"jitney.runtime.distributed.initialize": "State global_state"},
    "dtypes": {
        "jitney.core.types.dtypes": """check_user_dtype_supported check_valid_dtype
            is_weakly_typed is_python_scalar lattice_result_type scalar_type_to_dtype
            short_dtype_name=short_name to_numeric_dtype""",
        "jitney.core.types.extended_dtypes": """ExtendedDType PrimalTangentDType
            primal_tangent_dtype_scalar""",
        f"{_STAND_INS}.operands": """default_complex_dtype default_float_dtype default_int_dtype
            default_uint_dtype supports_inf to_complex_dtype to_floating_dtype
            to_inexact_dtype""",
    },
    "effects": {
        "jitney.core.types.effects": """EffectTypeSet custom_derivatives_allowed_effects ordered_effects
            remat_allowed_effects""",
        "jitney.experimental.checkify.error": "ErrorEffect",
    },
    "interpreters.ad": {
        "jitney.transforms.transpose": "backward_pass",
        f"{_STAND_INS}.shapes": "identity",
    },
    "interpreters.batching": {
        "jitney.api.batching.vmappables": "is_vmappable make_iota=indices",
        "jitney.transforms.batch": "AxisData BatchTrace BatchTracer batch_jaxpr",
        f"{_STAND_INS}.mapped": "from_elt to_elt",
    },
    "interpreters.partial_eval": {
        "jitney.core.recording.jaxpr_trace": "JaxprTrace",
        "jitney.experimental": "compute_on xla_metadata_lib=xla_metadata",
    },
    "lax.control_flow.loops": {
        f"{_STAND_INS}.batches": "_batch_and_remainder=batch_and_remainder",
    },
    "lax.lax": {f"{_STAND_INS}.lists": "ranges_like remaining"},
    # jaxlib and its modules.
    "lib": {
        "jitney.version": "__version__",
        f"{_STAND_INS}.libraries": "ifrt_version jaxlib_extension_version version version_str",
        "jitney.core.array": "Array",
        "jitney.runtime.devices.device": "Device",
    },
    "lib._jax": {
        "jitney.core.array": "Array",
        "jitney.core.recording.compat": "Token",
        "jitney.core.diagnostics.errors": "JaxRuntimeError",
        "jitney.core.pytree.pytrees": "_PyTreeRegistry=PyTreeRegistry",
        "jitney.core.pytree.treedef": "PyTreeDef",
        "jitney.core.sharding.named": "NamedSharding",
        "jitney.core.sharding.sharding": "Sharding",
        "jitney.runtime.arrays.array": "ArrayImpl",
        "jitney.runtime.devices.client": "Client",
        "jitney.runtime.devices.compile_options": "CompileOptions",
        "jitney.runtime.devices.device": "Device Memory",
        "jitney.runtime.execution.dispatch": "PjitFunction",
        "jitney.runtime.execution.executable": "CompiledMemoryStats=MemoryAnalysis Executable",
        "jitney.runtime.devices.sharding": "SingleDeviceSharding",
        f"{_STAND_INS}.libraries": "ifrt_version_number=ifrt_version",
    },
    "lib._jax.pytree": {
        "jitney.core.pytree.pytrees": "PyTreeRegistry default_registry",
        "jitney.core.pytree.treedef": "PyTreeDef",
    },
    "lib.version": {"jitney.version": "__version__ __version_info__"},
    "lib.xla_client": {
        "modules": "_xla=.lib._jax",
        "jitney.core.array": "Array",
        "jitney.core.diagnostics.errors": "XlaRuntimeError=JaxRuntimeError",
        "jitney.core.sharding.named": "NamedSharding",
        "jitney.core.sharding.sharding_proto": "OpSharding",
        "jitney.core.sharding.tile_assignment": "HloSharding",
        "jitney.core.sharding.sharding": "Sharding",
        "jitney.runtime.arrays.array": "ArrayImpl",
        "jitney.runtime.devices.client": "Client",
        "jitney.runtime.devices.compile_options": "CompileOptions",
        "jitney.runtime.devices.device": "Device Memory",
        "jitney.runtime.execution.executable": "Executable",
        "jitney.runtime.devices.sharding": "SingleDeviceSharding",
        f"{_STAND_INS}.libraries": "_ifrt_version=ifrt_version _version=jaxlib_extension_version",
    },
    "literals": {
        f"{_STAND_INS}.types": """LiteralArray=TypedNdArray TypedComplex TypedFloat TypedInt
            TypedNdArray""",
    },
    "numpy.array_methods": {
        "jitney.numpy.at": "_IndexUpdateHelper=IndexUpdateHelper _IndexUpdateRef=IndexUpdateRef",
    },
    "numpy.index_tricks": {"jitney.numpy.index_tricks": "CClass RClass"},
    "numpy.util": {
        "jitney.numpy.promotion": """_broadcast_arrays=broadcast_arrays check_arraylike ensure_arraylike
            promote_shapes""",
        f"{_STAND_INS}.operands": """_arraylike=is_arraylike _broadcast_to=broadcast _where=select
            check_arraylike_or_none check_no_float0s ensure_arraylike_tuple promote_args
            promote_args_complex promote_args_inexact promote_args_numeric
            promote_dtypes promote_dtypes_complex promote_dtypes_inexact promote_dtypes_numeric""",
    },
    "numpy.vectorize": {
        "jitney.numpy.vectorization": "_parse_gufunc_signature=parse_signature",
        f"{_STAND_INS}.gufuncs": """_apply_excluded=apply_excluded _check_output_dims=check_output_dims
            _parse_input_dimensions=parse_input_dimensions""",
    },
    "pjit": {"jitney.extend.core.primitives": "pjit_p=jit_p"},
    "public_test_util": {
        f"{_STAND_INS}.checks": "check_close default_tolerance tolerance",
    },
    "prng": dict(_THREEFRY),  # JAX's name for it before 0.11
    "random": {f"{_STAND_INS}.types": "Shape"},
    "random.threefry2x32": dict(_THREEFRY),
    "sharding_impls": {
        "jitney.runtime.devices.sharding": "UNSPECIFIED",
        f"{_STAND_INS}.shardings": "PositionalSharding canonicalize_sharding",
    },
    "state.types": {
        "jitney.core.types.refs": "AccumEffect ReadEffect RefEffect WriteEffect",
    },
    "traceback_util": {
        "jitney.core.source.source_info": """_exclude_paths=exclude_paths include_frame
            register_exclusion""",
        "jitney.core.diagnostics.tracebacks": "UnfilteredStackTrace api_boundary",
    },
    "tree_util": {
        "jitney.core.pytree.errors": "equality_errors equality_errors_pytreedef prefix_errors",
        "jitney.core.pytree.pytrees": "broadcast_prefix",
        f"{_STAND_INS}.registry": "_RegistryEntry=RegistryEntry _registry=registry",
        f"{_STAND_INS}.types": "BuiltInKeyEntry=KeyEntry",
    },
    "typing": {
        "jitney.core.typing": "SupportsDType",
        f"{_STAND_INS}.types": """DuckTypedArray StaticScalar SupportsNdim SupportsShape
            SupportsSize""",
        "jitney.core.symbolic.expressions": "DimSize",
    },
    "util": {
        f"{_STAND_INS}.callables": """Hashable=WithHash HashableFunction HashablePartial HashableWrapper
            StrictABC StrictABCMeta Unhashable cache curry distributed_debug_log fun_name
            fun_qual_name memoize set_module use_cpp_class use_cpp_method weakref_lru_cache wrap_name
            wraps""",
        f"{_STAND_INS}.lists": """OrderedSet canonicalize_axis canonicalize_axis_tuple ceil_of_ratio
            concatenate flatten=concatenate maybe_named_axis merge_lists partition_list safe_zip
            split_list split_list_checked stable_unique subs_list subs_list2 subvals tuple_delete
            tuple_insert tuple_update unflatten unzip2 unzip3""",
        "jitney.interpreters.batching": "moveaxis",
    },
    "xla_bridge": {"jitney.runtime.devices.client": "_backends=backends "},
}
