"""The configuration options, and fast access to them.

An option is a `State` (`core.settings.options`). `jax.config.update(name, value)` sets it globally,
and an environment variable sets its initial value (`JAX_ENABLE_X64=1` or `JITNEY_ENABLE_X64=1`).
The options that are context managers in JAX are context managers here as well: calling an option
returns a context that overrides it in the current thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import methodcaller
from typing import Any, NamedTuple, Protocol, TypeAlias

from jitney.core.settings.options import (
    OneOf,
    Overriding as Overriding,
    State,
    add_traced_state as add_traced_state,
    anything,
    boolean,
    call_epoch as call_epoch,
    integer,
    local,
    one_of,
    parser,
    renew_epochs as renew_epochs,
    settings_of_epoch as settings_of_epoch,
    trace_epoch as trace_epoch,
    watch_in_epochs,
)
from jitney.core.util.first_use import FirstUse

_PRECISIONS = (
    None, "default", "high", "highest", "bfloat16", "tensorfloat32", "float32", "BF16_BF16_F32",
    "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9", "TF32_TF32_F32",
    "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64",
)  # fmt: skip
_GUARDS = (None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")

_states: dict[str, State] = {}


def _add(name: str, default: object, parse: Callable[[Any], Any] = boolean, **kwargs: Any) -> State:
    state = State(name, default, parse, **kwargs)
    _states[name] = state
    return state


# --- options --------------------------------------------------------------------------------------

enable_x64 = _add(
    "jax_enable_x64", False, traced=True, context=True,
    help="Enables 64-bit dtypes; without it, they become 32-bit.",
)  # fmt: skip
numpy_dtype_promotion = _add(
    "jax_numpy_dtype_promotion", "standard", one_of("standard", "strict"),
    traced=True, context=True,
    help='"standard": dtypes are promoted as in JAX; "strict": only Python scalars are promoted.',
)  # fmt: skip
numpy_rank_promotion = _add(
    "jax_numpy_rank_promotion", "allow", one_of("allow", "warn", "raise"),
    traced=True, context=True,
    help="Policy for operands of different rank: broadcast, warn or raise an error.",
)  # fmt: skip
threefry_partitionable = _add(
    "jax_threefry_partitionable", True, traced=True, context=True,
    help="Makes random element i depend only on the key and i.",
)  # fmt: skip
default_prng_impl_state = _add(
    "jax_default_prng_impl", "threefry2x32", anything, traced=True, context=True,
    help="Name of the algorithm of new keys.",
)  # fmt: skip
disable_jit_state = _add(
    "jax_disable_jit",
    False,
    traced=True,
    context=True,
    help="Runs jitted functions as Python code.",
)
debug_nans = _add(
    "jax_debug_nans", False, called=True, context=True, help="Raises an error if a result is NaN."
)
debug_infs = _add(
    "jax_debug_infs",
    False,
    called=True,
    context=True,
    help="Raises an error if a result is infinite.",
)
debug_key_reuse = _add(
    "jax_debug_key_reuse", False, traced=True, context=True,
    help="Raises an error if a random key is used twice.",
)  # fmt: skip
check_tracer_leaks = _add(
    "jax_check_tracer_leaks", False, traced=True, context=True,
    help="Raises an error if a tracer outlives its trace.",
)  # fmt: skip
check_static_indices = _add(
    "jax_check_static_indices", False, traced=True, context=True,
    help="Raises an error if a static index is out of bounds.",
)  # fmt: skip
enable_checks = _add(
    "jax_enable_checks",
    False,
    traced=True,
    context=True,
    help="Verifies the programs of the compiler after each stage.",
)
disable_bwd_checks = _add(
    "jax_disable_bwd_checks", False, traced=True, context=True,
    help="Disables the check that cotangents of custom_vjp rules have the types of the arguments.",
)  # fmt: skip
default_matmul_precision = _add(
    "jax_default_matmul_precision", None, one_of(*_PRECISIONS), traced=True, context=True,
    help="Precision of matrix products that do not specify one; has no effect on CPUs.",
)  # fmt: skip
default_device = _add(
    "jax_default_device", None, anything, called=True, context=True,
    help="Device of uncommitted arrays: a Device, or the name of a platform.",
)  # fmt: skip
num_cpu_devices = _add(
    "jax_num_cpu_devices", -1, integer,
    help="Number of CPU devices; if -1, one, or the number in XLA_FLAGS.",
)  # fmt: skip
platforms = _add(
    "jax_platforms", None, parser(str),
    help="Platforms that may be used, with commas between them; one of them must be cpu.",
)  # fmt: skip
log_compiles = _add(
    "jax_log_compiles", False, context=True,
    help="Logs the time of tracing, lowering and compilation at level WARNING.",
)  # fmt: skip
explain_cache_misses = _add(
    "jax_explain_cache_misses", False, context=True,
    help="Logs at level WARNING why a jitted function is traced.",
)  # fmt: skip
enable_custom_prng = _add(
    "jax_enable_custom_prng", False, traced=True, context=True,
    help="Makes PRNGKey return typed keys, as jax.random.key does.",
)  # fmt: skip
softmax_custom_jvp = _add(
    "jax_softmax_custom_jvp", False, traced=True, context=True,
    help="Differentiates softmax by a rule whose only residual is the result.",
)  # fmt: skip
optimization_level = _add(
    "jax_optimization_level", "UNKNOWN", one_of("UNKNOWN", "O0", "O1", "O2", "O3"),
    traced=True, context=True,
    help='"O0" generates machine code in a third of the time; the code is slower, and its results are '
    "identical.",
)  # fmt: skip
disable_most_optimizations = _add(
    "jax_disable_most_optimizations", False, traced=True, context=True,
    help='Has the same effect as "O0" of `jax_optimization_level`.',
)  # fmt: skip
compile_repeated_calls = _add(
    "jitney_compile_repeated_calls", True, called=True, context=True,
    help="Compiles library functions that are called repeatedly outside of jit.",
)  # fmt: skip
reuse_equal_functions = _add(
    "jitney_reuse_equal_functions", False, context=True,
    help="Reuses the trace of a function for other functions with equal code that use the same values.",
)  # fmt: skip
async_dispatch = _add(
    "jax_cpu_enable_async_dispatch", True,
    help="Lets long calls return before their results are computed.",
)  # fmt: skip
sync = _add(
    "jitney_sync", False,
    help="Makes each call wait for its results, regardless of `jax_cpu_enable_async_dispatch`.",
)  # fmt: skip
performance_warnings = _add(
    "jitney_performance_warnings", True, context=True,
    help="Warns of avoidably slow programs, once each, and suggests how to make them faster.",
)  # fmt: skip
print_notes = _add(
    "jitney_print_notes",
    True,
    help="On a terminal, explains `print` of a tracer, once for each line.",
)
no_tracing = _add(
    "jax_no_tracing", False, context=True, help="Raises an error if a function is traced."
)
no_execution = _add(
    "jax_no_execution",
    False,
    called=True,
    context=True,
    help="Raises an error if a program is executed.",
)
allow_f16_reductions = _add(
    "jax_allow_f16_reductions", True, traced=True, context=True,
    help="Allows lax.reduce_sum of float16 and bfloat16.",
)  # fmt: skip
array_garbage_collection_guard = _add(
    "jax_array_garbage_collection_guard",
    None,
    one_of(None, "allow", "log", "fatal"),
    context=True,
    effective=False,
)
auto_pcast = _add(
    "jax_auto_pcast", True, traced=True, context=True,
    help="Within shard_map, casts operands to vary along the mesh axes of the others.",
)  # fmt: skip
legacy_prng_key = _add(
    "jax_legacy_prng_key", "allow", one_of("allow", "warn", "error"), context=True,
    help="Policy for keys that are arrays of uint32: allow, warn or raise an error.",
)  # fmt: skip
remove_size_one_mesh_axis_from_type = _add(
    "jax_remove_size_one_mesh_axis_from_type", False, context=True,
    help="Omits mesh axes of size 1 from the types of arrays.",
)  # fmt: skip
disable_vmap_shmap_error = _add("jax_disable_vmap_shmap_error", False, context=True)
jax2tf_associative_scan_reductions = _add(
    "jax2tf_associative_scan_reductions", False, context=True, effective=False
)
thread_guard = _add("jax_thread_guard", False, effective=False, context=True)
transfer_guard_host_to_device = _add(
    "jax_transfer_guard_host_to_device", None, one_of(*_GUARDS), called=True, context=True,
    help="Policy for implicit transfers of scalars and NumPy arrays to devices.",
)  # fmt: skip
transfer_guard_device_to_device = _add(
    "jax_transfer_guard_device_to_device", None, one_of(*_GUARDS), called=True, context=True,
    help="Policy for implicit transfers of arrays to other devices.",
)  # fmt: skip
transfer_guard_device_to_host = _add(
    "jax_transfer_guard_device_to_host", None, one_of(*_GUARDS), context=True, effective=False,
    help="Has no effect: arrays are in host memory, so reading them is not a transfer.",
)  # fmt: skip
all_transfer_guards = _add(
    "jax_transfer_guard", None, one_of(*_GUARDS),
    help="Policy for implicit transfers in all directions; setting it sets the other three.",
)  # fmt: skip
traceback_filtering = _add(
    "jax_traceback_filtering", "auto",
    one_of("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto"),
    help="Method that removes frames of this package from tracebacks.",
)  # fmt: skip
explicit_x64_dtypes = _add(
    "jax_explicit_x64_dtypes", "warn", one_of("warn", "error", "allow"), traced=True, context=True,
    help="Policy for explicit 64-bit dtypes without x64: use 32 bits and warn, raise an error, or "
    "allow them.",
)  # fmt: skip
tracer_error_num_traceback_frames = _add(
    "jax_tracer_error_num_traceback_frames", 5, integer,
    help="Number of frames shown in the error for a leaked tracer.", effective=False,
)  # fmt: skip
high_dynamic_range_gumbel = _add(
    "jax_high_dynamic_range_gumbel", False, effective=False, traced=True
)
random_seed_offset = _add("jax_random_seed_offset", 0, integer, traced=True)
compilation_cache_dir = _add(
    "jax_compilation_cache_dir", None, anything,
    help="Directory of compiled programs on disk; if None, a folder in the user's cache directory.",
)  # fmt: skip
enable_compilation_cache = _add(
    "jax_enable_compilation_cache", True,
    help="Enables the cache of compiled programs on disk.",
)  # fmt: skip
compilation_cache_max_size = _add(
    "jax_compilation_cache_max_size", -1, integer,
    help="Maximum size of that cache in bytes; 1 GB if -1.",
)  # fmt: skip
raise_persistent_cache_errors = _add(
    "jax_raise_persistent_cache_errors", False,
    help="Raises errors of the file system in that cache instead of ignoring them.",
)  # fmt: skip
captured_constants_warn_bytes = _add(
    "jax_captured_constants_warn_bytes", 2_000_000_000, integer, context=True,
    help="Total size in bytes of closed-over arrays at which a jitted function causes a warning.",
)  # fmt: skip

watch_in_epochs(_states.values())


@cache
def _all_states() -> dict[str, State]:
    """Returns all options by name.

    About a hundred of them have no effect; these are created on the first call.
    """
    from jitney.core.settings.inert_options import inert_options

    for name, default, values in inert_options():
        _add(name, default, parser(values), effective=False)
    return _states


def option(name: str) -> State:
    """Returns the option `name`, such as "jax_enable_x64".

    Raises:
      AttributeError: if there is no option of that name.
    """
    if name not in _states and name not in _all_states():
        import difflib

        near = difflib.get_close_matches(str(name), _states, 1)
        instead = f"\nInstead: {near[0]}" if near else ""
        raise AttributeError(f"jax.config has no option {name!r}{instead}")
    return _states[name]


# --- the public object ----------------------------------------------------------------------------


class Holder(Protocol):
    """An object that holds the value of an option added by a library."""

    @property
    def value(self) -> object: ...

    def _set(self, value: Any, /) -> None: ...


Meta: TypeAlias = "tuple[object, Sequence[object], Mapping[str, object]]"
"""The description of an option's flag: type, arguments, keyword arguments."""


class _Added(NamedTuple):
    """An option added by a library: its holder, and the description of its flag."""

    holder: Holder
    meta: Meta


_added: dict[str, _Added] = {}


def _flag_of(state: State) -> Meta:
    """Returns the description of an option's flag: its type, and further attributes."""
    keywords = {"help": state.__doc__}
    if isinstance(state.parse, OneOf):
        return (
            "enum",
            [],
            {"enum_values": [x for x in state.parse.choices if x is not None], **keywords},
        )
    kind: type = type(state.default)
    return kind if kind in (bool, int, float) else str, [], keywords


class Config:
    """`jax.config`: all options by name, as attributes and through `update` and `read`."""

    def add_option(
        self,
        name: str,
        holder: Holder,
        opt_type: object,
        meta_args: Sequence[Any],
        meta_kwargs: Mapping[str, Any],
    ) -> None:
        """Adds an option, to be set by `update` and read by `read`.

        Args:
          name: a new name.
          holder: an object with the attribute `value` and the method `_set(value)`.
          opt_type: the type of the option's flag: bool, int, float, str or "enum".
          meta_args, meta_kwargs: further arguments of the flag, as in `meta`.

        Raises:
          ValueError: if an option of that name exists.
        """
        if name in _added or name in _all_states():
            raise ValueError(f"config.add_option: the option {name!r} already exists")
        _added[name] = _Added(holder, (opt_type, meta_args, meta_kwargs))

    @property
    def meta(self) -> dict[str, Meta]:
        """Option -> (type, arguments, keyword arguments) of its flag, including the help."""
        own = {name: _flag_of(state) for name, state in _all_states().items()}
        return {**own, **{name: added.meta for name, added in _added.items()}}

    @property
    def use_absl(self) -> bool:
        """Whether flags of absl-py have been defined for the options: see `config_with_absl`."""
        from jitney.core.settings import absl_flags

        return absl_flags.are_defined()

    def update(self, name: str, val: object) -> None:
        """Sets an option globally.

        Raises:
          AttributeError: if there is no option of that name.
          RuntimeError: if the option cannot be set any longer.
          ValueError: if the value is not valid for the option.
        """
        if name in _added:
            methodcaller("_set", val)(_added[name].holder)  # JAX's name, which is private here
        else:
            option(name).set_global(val)

    def read(self, name: str) -> Any:
        """Returns the value of an option that is in effect in this thread."""
        return _added[name].holder.value if name in _added else option(name).value

    _read = read

    @property
    def values(self) -> dict[str, object]:
        """The global values of all options, by name."""
        own = {name: state.global_value for name, state in _all_states().items()}
        return {**own, **{name: added.holder.value for name, added in _added.items()}}

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit types are enabled for this thread."""
        return x64_enabled()

    def config_with_absl(self) -> None:
        """Defines a flag of absl-py for each option; `absl.app.run` parses the flags."""
        from jitney.core.settings import absl_flags

        absl_flags.define_flags(self.values, self.update)

    def complete_absl_config(self, absl_flags: Any) -> None:
        """Sets the options whose flags were given on the command line; takes `absl.flags`."""
        from jitney.core.settings.absl_flags import apply_flags

        apply_flags(absl_flags, self.values, self.update)

    def parse_flags_with_absl(self) -> None:
        """Defines flags of absl-py and sets options from the command line of this process.

        Repeated calls have no effect.
        """
        from jitney.core.settings import absl_flags

        absl_flags.parse_flags(self.values, self.update)

    def __getattr__(self, name: str) -> Any:
        return option(name).value

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"set options with jax.config.update({name!r}, {value!r}) or with a context manager"
        )

    def __dir__(self) -> list[str]:
        return sorted({*_all_states(), *(name for name in vars(Config) if name[0] != "_")})


config = Config()


# --- quick reads ----------------------------------------------------------------------------------


def x64_enabled() -> bool:
    """Returns whether 64-bit dtypes are enabled in this thread."""
    overrides = local.values
    if overrides is None:
        return enable_x64.global_value
    return overrides.get("jax_enable_x64", enable_x64.global_value)


def keeps_wide() -> bool:
    """Returns whether explicitly requested 64-bit dtypes are kept although x64 is disabled."""
    if local.values is None:
        return explicit_x64_dtypes.global_value == "allow" and not enable_x64.global_value
    return explicit_x64_dtypes.value == "allow" and not enable_x64.value


def strict_promotion_enabled() -> bool:
    """Returns whether dtypes are promoted by the strict rules."""
    return numpy_dtype_promotion.value == "strict"


def numpy_rank_promotion_mode() -> str:
    """Returns the policy for operands of different ranks: "allow", "warn" or "raise"."""
    return numpy_rank_promotion.value


def threefry_partitionable_enabled() -> bool:
    """Returns whether each random bit depends only on the key and its position."""
    overrides = local.values
    if overrides is None:
        return threefry_partitionable.global_value
    return overrides.get("jax_threefry_partitionable", threefry_partitionable.global_value)


def disable_jit_enabled() -> bool:
    """Returns whether jitted functions run eagerly."""
    return disable_jit_state.value


def debug_nans_enabled() -> bool:
    """Returns whether a NaN in a result is an error."""
    return debug_nans.value


def debug_infs_enabled() -> bool:
    """Returns whether an infinity in a result is an error."""
    return debug_infs.value


# Features that options enable; once enabled, they intercept operations.
value_checks, key_reuse_checks, transfer_checks = FirstUse(), FirstUse(), FirstUse()
device_choice = FirstUse()
debug_nans.listen(value_checks.note)
debug_infs.listen(value_checks.note)
debug_key_reuse.listen(key_reuse_checks.note)
default_device.listen(device_choice.note)
for _guard in (
    transfer_guard_host_to_device, transfer_guard_device_to_device, transfer_guard_device_to_host
):  # fmt: skip
    all_transfer_guards.listeners.append(_guard.set_global)
    _guard.listen(transfer_checks.note)


def checks_values() -> bool:
    """Returns whether results are checked for NaNs or infinities."""
    if local.values is None:
        return debug_nans.global_value or debug_infs.global_value
    return debug_nans.value or debug_infs.value


def default_prng_impl() -> str:
    """Returns the name of the default PRNG implementation of new keys."""
    return default_prng_impl_state.value


def disable_jit(disable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Returns a context in which jitted functions run as ordinary Python code.

    Example:
      >>> f = jax.jit(lambda x: x.item())  # a traced array has no value
      >>> with jax.disable_jit():
      ...   f(jnp.float32(2))
      2.0
    """
    return disable_jit_state(disable)


def transfer_guard(new_value: str) -> contextlib.AbstractContextManager[None]:
    """Returns a context that sets the transfer guards of all directions to `new_value`."""
    return Overriding(
        (transfer_guard_host_to_device, new_value),
        (transfer_guard_device_to_device, new_value),
        (transfer_guard_device_to_host, new_value),
    )


def checking_leaks() -> contextlib.AbstractContextManager[None]:
    """Returns a context in which a tracer that outlives its trace raises an error."""
    return check_tracer_leaks(True)
