"""Options of JAX that have no effect here.

They concern XLA's passes, accelerators or distributed processes, or choose between implementations
within JAX that give the same result. Because programs and scripts set them, they are accepted and
checked, and can be read back. `docs/settings.md` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

Values: TypeAlias = "type | tuple[object, ...]"
"""The valid values of an option: a type (and None, unless it is bool), or a tuple of choices."""

_OFF = (
    "check_vma", "eager_constant_folding",
    "jax_accurate_erf_inv", "jax_bcoo_cusparse_lowering", "jax_compilation_cache_check_contents",
    "jax_compilation_cache_expect_pgle", "jax_compilation_cache_include_metadata_in_key",
    "jax_custom_jvp3", "jax_custom_vjp3", "jax_debug_leaked_clients_on_clear_backends",
    "jax_disallow_mesh_context_manager", "jax_distributed_debug",
    "jax_distributed_verify_secure_credentials", "jax_enable_pgle",
    "jax_enable_recoverability", "jax_experimental_unsafe_xla_runtime_errors",
    "jax_export_deserialize_expired_versions", "jax_export_ignore_forward_compatibility",
    "jax_force_dcn_cross_host_transfers",
    "jax_log_checkpoint_residuals", "jax_mosaic_allow_hlo", "jax_pallas_enable_debug_checks",
    "jax_pallas_poison_buffers", "jax_pallas_verbose_errors",
    "jax_ragged_dot_use_gpu_pallas_triton_lowering", "jax_refs_to_pins", "jax_remat3",
    "jax_remat_barrier_no_cotangents",
    "jax_remove_custom_partitioning_ptr_from_cache_key", "jax_scan3", "jax_share_binary_between_hosts",
    "jax_threefry_gpu_kernel_lowering", "jax_use_cpp_shard_args", "jax_use_emit_pipeline_primitive",
    "jax_use_simplified_jaxpr_constants",
)  # fmt: skip
_ON = (
    "jax2tf_default_native_serialization", "jax_check_proxy_envs", "jax_compiler_enable_remat_pass",
    "jax_enable_preemption_service",
    "jax_include_debug_info_in_dumps", "jax_include_full_tracebacks_in_locations",
    "jax_mosaic_unzip_debug_locations", "jax_mutable_array_checks", "jax_pallas_use_mosaic_gpu",
    "jax_pprint_use_color",
    "jax_raise_on_ppermute_sort_diff", "jax_ragged_dot_use_ragged_dot_instruction",
    "jax_sort_devices_by_process_index",
    "jax_use_direct_linearize", "jax_use_rgv3", "jax_use_shardy_partitioner",
)  # fmt: skip
_NUMBERS: dict[str, int | float] = {
    "jax_captured_constants_report_frames": 0,
    "jax_compiler_detailed_logging_min_ops": 10,
    "jax_cpu_get_global_topology_timeout_minutes": 5,
    "jax_cpu_get_local_topology_timeout_minutes": 2,
    "jax_embedded_constants_max_bytes": 32,
    "jax_exec_time_optimization_effort": 0.0,
    "jax_export_calling_convention_version": 10,
    "jax_memory_fitting_effort": 0.0,
    "jax_pallas_auto_assign_collective_ids_limit": 25,
    "jax_persistent_cache_min_compile_time_secs": 1.0,
    "jax_persistent_cache_min_entry_size_bytes": 0,
    "jax_pgle_aggregation_percentile": 90,
    "jax_pgle_profiling_runs": 3,
    "jax_serialization_version": 0,
    "jax_share_binary_between_hosts_timeout_ms": 1_200_000,
    "jax_traceback_in_locations_limit": 100,
    "jax_xla_profile_version": 0,
    "mock_num_gpu_processes": 0,
}
_TEXTS = {
    "jax_backend_target": "",
    "jax_cross_host_transfer_socket_address": "",
    "jax_cross_host_transport_addresses": "",
    "jax_cuda_visible_devices": "all",
    "jax_debug_log_modules": "",
    "jax_dump_ir_modes": "stablehlo",
    "jax_dump_ir_to": "",
    "jax_hlo_source_file_canonicalization_regex": None,
    "jax_mock_gpu_topology": "",
    "jax_mtls_ca_file": None,
    "jax_mtls_cert_file": None,
    "jax_mtls_key_file": None,
    "jax_mtls_peer_uri_prefix": None,
    "jax_oneapi_visible_devices": "all",
    "jax_persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
    "jax_platform_name": "",
    "jax_rocm_visible_devices": "all",
    "jax_source_url_schema": None,
    "jax_xla_backend": "",
}
_LEVELS = ("UNKNOWN", "O0", "O1", "O2", "O3")
_CHOICES: dict[str, tuple[object, tuple[object, ...]]] = {
    "jax_cpu_collectives_implementation": ("gloo", (None, "gloo", "mpi", "megascale")),
    "jax_default_dtype_bits": (None, (None, "32", "64")),
    "jax_error_checking_behavior_divide": ("ignore", ("ignore", "raise")),
    "jax_error_checking_behavior_nan": ("ignore", ("ignore", "raise")),
    "jax_error_checking_behavior_oob": ("ignore", ("ignore", "raise")),
    "jax_logging_level": (
        "NOTSET", (None, "NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    ),
    "jax_memory_fitting_level": ("O2", _LEVELS),
    "jax_pallas_auto_assign_collective_ids": ("no", ("no", "yes", "override")),
    "jax_send_traceback_to_runtime": ("off", ("off", "on", "full")),
    "jax_use_magma": ("auto", ("off", "on", "auto")),
}  # fmt: skip
# Options that are passed to JAX's client unchecked.
_FREE = (
    "jax_cross_host_transfer_timeout_seconds", "jax_cross_host_transfer_transfer_size",
    "jax_pjrt_client_create_options", "jax_use_hlo_logistic_lowering",
)  # fmt: skip


def inert_options() -> Iterator[tuple[str, object, Values]]:
    """Yields (name, default, valid values) for each option."""
    yield from ((name, False, bool) for name in _OFF)
    yield from ((name, True, bool) for name in _ON)
    yield from ((name, default, type(default)) for name, default in _NUMBERS.items())
    yield from ((name, default, str) for name, default in _TEXTS.items())
    yield from ((name, default, values) for name, (default, values) in _CHOICES.items())
    yield from ((name, None, object) for name in _FREE)
