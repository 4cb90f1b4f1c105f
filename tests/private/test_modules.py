"""`jax._src`: private modules hand out what JAX's do, by the tables of `jitney.private`."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

import jitney
from jitney.private import modules, places

# Names that other private modules define, and that have no row yet.
WITHOUT_ROW = 320


# What seventy packages of PyPI were seen to read, below jax._src.
READ_BY_PACKAGES = """
    ad_util.add_any_p ad_util.stop_gradient_p api._check_input_dtype_jacfwd
    api._check_input_dtype_jacrev api._check_output_dtype_jacfwd api._check_output_dtype_jacrev
    api._dtype api._jacfwd_unravel api._jacrev_unravel api._jvp api._std_basis api._vjp
    api_util._ensure_index api_util.argnums_partial api_util.check_callable
    api_util.flatten_axes array basearray.Array checkify compiler config core core.ClosedJaxpr
    core.Jaxpr core.JaxprEqn core.JaxprEqnContext core.Literal core.Tracer core.Var
    core.closed_call_p core.concrete_or_error core.is_constant_dim core.jaxpr_as_fun
    core.mutable_array core.trace_ctx core.trace_state_clean dispatch dispatch.apply_primitive
    dispatch.wait_for_tokens distributed distributed.global_state
    distributed.global_state.client distributed.global_state.process_id dtypes
    dtypes.TypePromotionError dtypes.canonicalize_dtype earray flatten_util.ravel_pytree
    flattree interpreters interpreters.batching.BatchTrace interpreters.batching.BatchTracer
    interpreters.batching.is_vmappable interpreters.batching.make_iota
    interpreters.batching.to_elt interpreters.partial_eval
    interpreters.partial_eval.DynamicJaxprTracer interpreters.partial_eval.JaxprTracer
    interpreters.partial_eval.compute_on interpreters.partial_eval.dce_jaxpr
    interpreters.partial_eval.xla_metadata_lib interpreters.pxla
    lax.control_flow.loops._batch_and_remainder lax.control_flow.scan lax.convolution lax.lax
    lax.linalg lib lib._jax lib._jax.PjitFunction lib.jaxlib_extension_version lib.xla_client
    literals literals.LiteralArray literals.TypedNdArray nn.functions.glu numpy
    numpy.array_methods._IndexUpdateHelper numpy.array_methods._IndexUpdateRef numpy.einsum
    numpy.index_tricks.CClass numpy.index_tricks.RClass numpy.lax_numpy numpy.ufuncs.ufunc
    numpy.util numpy.util.check_arraylike numpy.util.promote_dtypes_complex
    numpy.util.promote_dtypes_inexact numpy.vectorize._apply_excluded
    numpy.vectorize._check_output_dims numpy.vectorize._parse_gufunc_signature
    numpy.vectorize._parse_input_dimensions pjit pjit.auto_axes pjit.jit_p pjit.pjit_p
    pretty_printer public_test_util.check_close random.Shape scipy.special.gammaln
    scipy.special.logsumexp sharding_impls sharding_impls.PositionalSharding
    sharding_impls.UNSPECIFIED sharding_impls.canonicalize_sharding source_info_util
    source_info_util.summarize state state.types state.types.AbstractRef traceback_util
    tree_util tree_util.BuiltInKeyEntry tree_util._registry tree_util.flatten_one_level
    typing.Array typing.ArrayLike typing.DTypeLike typing.SupportsDType util.HashablePartial
    util.wraps xla_bridge xla_bridge._backends
"""


def private(module):
    return importlib.import_module(f"jitney._src.{module}")


def rows():
    private("core")
    for module in sorted({*modules._paragraphs(), *places.PLACES}):
        for name, place in modules.places(module).items():
            yield module, name, place


@pytest.mark.parametrize("name", READ_BY_PACKAGES.split())
def test_what_packages_read_is_there(name):
    value = importlib.import_module("jitney._src")
    for part in name.split("."):
        value = getattr(value, part)


def test_every_public_name_of_the_table_is_there():
    missing = []
    for module, name, place in rows():
        if not place.startswith("jitney._src."):
            try:
                modules.find(module, name)
            except (AttributeError, ImportError):
                missing.append((module, name, place))
    assert not missing


def test_every_row_written_by_hand_is_there():
    for module, wheres in places.PLACES.items():
        for where, words in wheres.items():
            owner = None if where == "modules" else importlib.import_module(where)
            for word in words.replace("*", "").split():
                name, _, original = word.partition("=")
                there = (
                    importlib.import_module(f"{modules.ROOT}{original}")
                    if owner is None
                    else getattr(owner, original or name)
                )
                assert modules.find(module, name) is there, (module, word)


def test_rows_written_by_hand_are_needed():
    """What real JAX has in public, under the same name, needs none."""
    for module, wheres in places.PLACES.items():
        text = modules._paragraphs().get(module, "")
        read_off = {
            word.partition("=")[0]
            for line in text.splitlines()
            if not line.startswith(".")
            for word in line.partition(": ")[2].split()
        }
        written = {word.partition("=")[0] for words in wheres.values() for word in words.split()}
        assert not written & read_off, (module, written & read_off)


def test_few_names_lead_nowhere():
    without = 0
    for module, name, place in rows():
        if place.startswith("jitney._src."):
            try:
                modules.find(module, name)
            except AttributeError:
                without += 1
    assert without <= WITHOUT_ROW


@pytest.mark.parametrize(
    ("module", "name", "public"),
    [
        ("numpy.reductions", "sum", "numpy.sum"),
        ("lax.lax", "add_p", "lax.add_p"),
        ("lax.slicing", "gather", "lax.gather"),
        ("typing", "ArrayLike", "typing.ArrayLike"),
        ("core", "Jaxpr", "extend.core.Jaxpr"),
        ("core", "ShapedArray", "core.ShapedArray"),
        ("interpreters.partial_eval", "dce_jaxpr", "interpreters.partial_eval.dce_jaxpr"),
        ("nn.functions", "glu", "nn.glu"),
        ("scipy.special", "gammaln", "scipy.special.gammaln"),
        ("pjit", "jit_p", "extend.core.primitives.jit_p"),
        ("dtypes", "extended", "dtypes.extended"),
        ("flatten_util", "ravel_pytree", "flatten_util.ravel_pytree"),
        ("ad_util", "stop_gradient_p", "extend.core.primitives.stop_gradient_p"),
        ("basearray", "Array", "Array"),
    ],
)
def test_public_objects(module, name, public):
    where, _, attribute = f"jitney.{public}".rpartition(".")
    assert getattr(private(module), name) is getattr(importlib.import_module(where), attribute)


def test_modules_are_attributes_of_modules():
    assert private("numpy").reductions is private("numpy.reductions")
    assert private("lax.lax").core is private("core")
    assert private("numpy.util").lax is private("lax.lax")


def test_replaced_functions_are_replaced():
    """A library that checks which backends compile puts its own function into this module."""
    compiling = importlib.import_module("jitney.runtime.compilation.compiling")
    assert private("compiler") is compiling
    assert importlib.import_module("jitney._src").compiler is compiling
    assert compiling.__spec__.name == compiling.__name__ == "jitney.runtime.compilation.compiling"


def test_state_of_traces_and_processes():
    assert private("core").trace_state_clean()
    traced = []
    jitney.eval_shape(lambda: traced.append(private("core").trace_state_clean()))
    assert traced == [False]
    private("dispatch").wait_for_tokens()
    assert dict in private("tree_util")._registry
    assert private("tree_util").flatten_one_level([1, [2]])[0] == [1, [2]]
    state = private("distributed").global_state
    assert (state.process_id, state.client) == (0, None)


def test_a_library_adds_arguments_to_the_program_that_is_traced():
    core = private("core")

    def f(x):
        extra = core.trace_ctx.trace.new_arg(core.ShapedArray((2,), np.dtype("float32")), None)
        return x + extra.sum()

    jaxpr = jitney.make_jaxpr(f)(np.float32(1)).jaxpr
    assert [str(v.aval) for v in jaxpr.invars] == ["float32[]", "float32[2]"]


def test_options():
    config = private("config")
    assert config.enable_x64.value is False
    with config.enable_x64(True):
        assert config.enable_x64.value
    assert config.jax_platforms.name == "jax_platforms"
    assert config.config is jitney.config
    with pytest.raises(AttributeError, match="jax_no_such"):
        _ = config.no_such


def test_modules_are_attributes_without_being_imported():
    code = "import jitney._src as own\nfor name in ('core', 'lax', 'numpy'): getattr(own, name).__doc__"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match=r"jax\._src"):
        _ = importlib.import_module("jitney._src").no_such_module
    with pytest.raises(
        AttributeError, match=r"'jax\._src\.numpy\.util' has no attribute 'no_such'"
    ):
        _ = private("numpy.util").no_such
    with pytest.raises(ModuleNotFoundError):
        private("no_such_module")


def test_completion_lists_names_and_modules():
    assert {"core", "lax", "numpy"} <= set(dir(importlib.import_module("jitney._src")))
    assert {"reductions", "util"} <= set(dir(private("numpy")))
    assert {"unzip2", "safe_map"} <= set(dir(private("util")))


def test_importing_the_package_loads_no_table():
    code = "import sys, jitney, jitney.numpy\nassert not any('private' in name for name in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_imports_as_jax(jitney_program):
    jitney_program(
        """
        import jax._src.numpy.reductions
        from jax._src import core, linear_util as lu
        from jax._src.numpy.util import promote_dtypes_inexact
        from jax._src.lax import lax as lax_internal
        import jax
        assert jax._src.numpy.reductions.sum is jax.numpy.sum
        assert lax_internal.add_p is jax.lax.add_p
        assert core.__name__ == "jax._src.core"
        assert promote_dtypes_inexact(1, 2)[0].dtype == "float32"
        try:
            from jax._src.core import no_such
        except ImportError:
            print("refused")
        """
    )


def test_jaxlib_as_jax(jitney_program):
    jitney_program(
        """
        import importlib.metadata, importlib.util
        import jax, jaxlib.version
        from jaxlib import xla_client
        from jaxlib._jax import ArrayImpl, PjitFunction

        assert jaxlib.__version__ == jaxlib.version.__version__ == jax.__version__
        assert isinstance(jax.numpy.ones(2), ArrayImpl)
        assert isinstance(jax.jit(lambda x: x), PjitFunction)
        assert type(jax.devices()[0]) is xla_client.Device
        assert jax._src.lib.xla_client is xla_client
        assert xla_client.XlaRuntimeError is jax.errors.JaxRuntimeError
        assert xla_client._xla.Client is xla_client.Client
        assert importlib.util.find_spec("jaxlib") is not None
        for name in ("jax", "jaxlib"):
            assert importlib.metadata.version(name) == jax.__version__
            assert importlib.metadata.distribution(name).metadata["Name"] == name
        assert "jax" in importlib.metadata.packages_distributions()["jax"]
        try:
            importlib.metadata.version("jax-nonesuch")
        except importlib.metadata.PackageNotFoundError:
            pass
        """
    )


def test_frames_that_libraries_leave_out(tmp_path):
    util = private("traceback_util")
    frames = {}
    for name in ("library", "program"):
        path = tmp_path / f"{name}.py"
        code = compile("import sys\nframe = sys._getframe()", str(path), "exec")
        exec(code, names := {})
        frames[name] = names["frame"]
    util.register_exclusion(str(tmp_path / "library.py"))
    try:
        assert util.include_frame(frames["program"])
        assert not util.include_frame(frames["library"])
        assert str(tmp_path / "library.py") in util._exclude_paths
    finally:
        util._exclude_paths.pop()


@pytest.fixture
def jitney_program(tmp_path):
    """Runs a program under the name of jax in a process of its own."""
    import textwrap

    def run(text):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text))
        subprocess.run([sys.executable, "-m", "jitney", str(path)], check=True)

    return run
