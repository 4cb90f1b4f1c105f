"""Every rule of every primitive runs, and does what its definition says."""

import warnings

import numpy as np
import pytest
from tests.primitives import drive, rule_runs
from tests.primitives.records import all_records
from tests.primitives.records.programs import PROGRAMS

import jitney

# Record or program -> checks that do not hold for it, and why.
SKIPPED = {
    "psend and precv": (("jvp", "transpose", "jet"), "they have no derivatives, as in JAX"),
    "references": (("jet",), "there are none of higher order, as in JAX"),
    "sign_complex": (("jvp",), "the derivative is 0, as JAX defines it"),
    "acosh": (("jvp",), "JAX's derivative is of the other branch where the real part is negative"),
    "stop_gradient": (("jvp",), "it is there to make the derivative another one"),
    "pmax": (("jvp",), "its derivative is stopped: it has none"),
    "pmin": (("jvp",), "its derivative is stopped: it has none"),
    "igamma": (("jvp",), "NaN for first operands of 0, as in JAX"),
    "igammac": (("jvp",), "NaN for first operands of 0, as in JAX"),
    "log": (("jet",), "infinite at 0"),
    "random_gamma": (
        ("jvp",),
        "the derivative is that of the quantile, not of the steps of a draw",
    ),
    "rng_bit_generator": (("vmap",), "a batch is drawn from the first state, as in JAX"),
    "clamp": (("jvp",), "bounds in the wrong order, for which JAX defines the derivative to be 0"),
    "convert_element_type": (("jvp",), "results of fewer digits than differences need"),
    "bitcast_convert_type": (("jvp",), "bits have no derivative, though the dtype stays"),
    "reduce_precision": (("jvp", "transpose"), "derivatives are rounded, too"),
    "gather[windows,promise_in_bounds]": (("transpose",), "some windows are out of bounds"),
    "scatter_min_all_dtypes": (("jvp", "transpose", "jet"), "ties with 0 divide by 0, as in JAX"),
    "scatter_max_all_dtypes": (("jvp", "transpose", "jet"), "ties with 0 divide by 0, as in JAX"),
}

_INSIDE = "vmap takes its axis away before anything is computed or compiled"
_BITS = "keys and bits have no derivative; JAX declares a rule, so that libraries find one"
_WHY = {
    _INSIDE: (
        "all_gather all_to_all axis_index pbroadcast ppermute preduced psum_invariant pvary "
        "reduce_scatter reduced_vary_cast_p vary_unreduced_cast_p",
        "eager lower",
    ),
    "jet does not enter shard_map, as in JAX": (
        "all_gather_invariant all_gather_reduced preduced psum_invariant pvary ragged_all_to_all "
        "reduced_vary_cast_p unreduced_psum unreduced_reduce_scatter vary_unreduced_cast_p", "jet",
    ),
    "memory that is never read is made by compiled programs alone": ("empty2", "eager"),
    "it raises an error of its own: tests/lax/test_named_operations.py": ("composite", "transpose"),
    "they raise errors of their own: tests/api/test_callbacks.py": (
        "io_callback pure_callback",
        "transpose",
    ),
    "extents that are unknown are not of arrays that there are: tests/core/test_symbolic.py": (
        "dim_as_value", "abstract eager",
    ),
    "their module is loaded by tests of theirs alone: tests/experimental/sparse/test_products.py": (
        "coo_spmm coo_spmv", "abstract batch jvp lower_with_avals transpose",
    ),
    "it is not transformed, as in JAX: tests/experimental/test_custom_partitioning.py": (
        "custom_partitioning", "abstract lower",
    ),
    "it stands for machine code that was loaded: tests/api/test_serialized.py": (
        "loaded_program", "abstract lower",
    ),
    _BITS: ("random_bits random_clone random_fold_in random_split random_unwrap "
            "lu_pivots_to_permutation", "jvp jet"),
}  # fmt: skip
# Slots that have tests of their own, each rule beside real jax.
ELSEWHERE = {
    "key_words": "tests/random/test_generators.py",
    "discharge": "tests/primitives/refs/test_refs.py",
    "lojax": "tests/experimental/test_hijax.py",
    "key_use": "tests/random/test_key_reuse.py",
    "checkify": "tests/experimental/test_checkify.py",
    "mesh": "tests/api/test_meshes.py",
    "over_devices": "tests/api/test_meshes.py",
    "by_steps": "tests/runtime/test_debug_checks.py",
    "varying": "tests/api/test_meshes.py",
    "sharding": "tests/api/test_explicit_sharding.py",
    "checks_place": "tests/api/test_meshes_in_force.py",
    "communication": "tests/core/test_communication.py",
}
# Rules that no program reaches, and why they are there.
UNREACHED = {
    (name, slot): why
    for why, (names, slots) in _WHY.items()
    for name in names.split()
    for slot in slots.split()
}


def case_of(record, dtype):
    """The smallest case of several finite elements, or the smallest one."""

    def rank(case):
        arrays = [np.asarray(x) for x in case]
        is_finite = all(np.isfinite(a.astype(np.complex128)).all() for a in arrays)
        size = sum(a.size for a in arrays)
        return (not is_finite, all(a.size < 2 for a in arrays), size)

    return min(record.cases(dtype), key=rank)


def chosen_dtypes(record):
    """A dtype of each kind, the widest that the record has."""
    kinds = {}
    for dtype in record.dtypes:
        kinds[dtype.kind] = dtype
    return kinds.values()


@pytest.fixture(scope="module")
def found():
    """(rules that ran, what went wrong)."""
    wrong = []
    with (
        jitney.enable_x64(True),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        rule_runs.counted() as ran,
    ):
        warnings.simplefilter("ignore")
        for family, record in all_records():
            for dtype in chosen_dtypes(record):
                args = case_of(record, dtype)
                skip = SKIPPED.get(record.name, ((), ""))[0]
                for line in drive.problems(lambda *xs, r=record: r.fn(jitney.lax, *xs), args, skip):
                    wrong.append(f"{family}-{record.name}-{dtype}: {line}")
        for name, (program, args) in PROGRAMS.items():
            skip = SKIPPED.get(name, ((), ""))[0]
            for line in drive.problems(lambda *xs, p=program: p(jitney, *xs), args, skip):
                wrong.append(f"{name}: {line}")
    return ran, wrong


@pytest.mark.slow  # the fixture runs each rule of each primitive, under each transformation
def test_rules_are_right(found):
    assert not found[1], "\n".join(found[1])


def test_every_rule_runs(found):
    never = rule_runs.declared() - found[0]
    never = {rule for rule in never if rule not in UNREACHED and rule[1] not in ELSEWHERE}
    assert not never, f"no record or program runs {sorted(never)}"


def test_unreached_rules_are_not_reached(found):
    ran = sorted(found[0] & set(UNREACHED))
    assert not ran, f"these do run: take them out of UNREACHED: {ran}"
