"""`jax._src`: the private names that libraries read are the things that they name."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import jitney

SOURCE = Path(jitney.__file__).parent / "_src"


def test_holds_pointers_only():
    for path in SOURCE.glob("*.py"):
        if path.name == "__init__.py":  # its names are those of the stub
            continue
        for node in ast.parse(path.read_text()).body:
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            is_list = isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
            assert is_text or is_list or isinstance(node, ast.ImportFrom), (path.name, node.lineno)


def test_names():
    def private(module):
        return importlib.import_module(f"jitney._src.{module}")

    assert private("core").ShapedArray is jitney.core.ShapedArray
    assert private("core").trace_state_clean()
    traced = []
    jitney.eval_shape(lambda: traced.append(private("core").trace_state_clean()))
    assert traced == [False]
    assert private("dtypes").extended is jitney.dtypes.extended
    assert private("flatten_util").ravel_pytree is jitney.flatten_util.ravel_pytree
    assert private("api_util").flatten_fun is jitney.api_util.flatten_fun
    assert private("ad_util").stop_gradient_p is jitney.lax.stop_gradient_p
    private("dispatch").wait_for_tokens()
    assert dict in private("tree_util")._registry
    assert private("tree_util").flatten_one_level([1, [2]])[0] == [1, [2]]
    state = jitney._src.distributed.global_state
    assert (state.process_id, state.client) == (0, None)


def test_modules_are_attributes_without_being_imported():
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__"}
    code = "import jitney._src as own\n" + "\n".join(f"own.{name}" for name in sorted(modules))
    subprocess.run([sys.executable, "-c", code], check=True)
    private = importlib.import_module("jitney._src")
    assert private.xla_bridge is importlib.import_module("jitney._src.xla_bridge")
    with pytest.raises(AttributeError, match=r"jax\._src"):
        _ = private.no_such_module


def test_frames_that_libraries_leave_out(tmp_path):
    util = importlib.import_module("jitney._src.traceback_util")
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
