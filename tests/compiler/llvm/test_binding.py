"""LLVM's functions have the signatures that llvmlite declares, and errors name what is wrong."""

import pytest

from jitney.compiler.llvm import binding
from jitney.compiler.llvm.target import host
from jitney.core.settings import config

ADDITION = """
define i64 @f(i64 %x) {
  %y = add i64 %x, 1
  ret i64 %y
}
"""


@pytest.fixture(autouse=True)
def registered():
    """Registers the target of the processor, as the engine does before it compiles."""
    functions = binding.functions()
    functions.InitializeNativeTarget()
    functions.InitializeNativeAsmPrinter()


@pytest.fixture
def machine():
    target = host()
    created = binding.TargetMachine(target.triple, target.cpu, target.feature_text, 2)
    yield created
    created.close()


def test_signatures_are_those_that_llvmlite_declares():
    assert binding.differing_signatures() == []


def test_other_signatures_are_found(monkeypatch):
    changed = {"CreatePassBuilder": (binding._POINTER, binding._POINTER)}
    monkeypatch.setattr(binding, "SIGNATURES", binding.SIGNATURES | changed)
    assert binding.differing_signatures() == ["CreatePassBuilder"]
    monkeypatch.setattr(binding, "_KNOWN_VERSIONS", ())
    binding.functions.cache_clear()
    with pytest.raises(ImportError, match="other signatures of CreatePassBuilder"):
        binding.functions()
    monkeypatch.undo()
    binding.functions.cache_clear()


def test_other_results_are_found(monkeypatch):
    for name, result in (("GetBufferSize", (None,)), ("ContextCreate", (binding._INT,))):
        signature = (*result, *binding.SIGNATURES[name][1:])
        with monkeypatch.context() as changed:
            changed.setattr(binding, "SIGNATURES", binding.SIGNATURES | {name: signature})
            assert binding.differing_signatures() == [name]


def test_a_missing_function_is_an_import_error(monkeypatch):
    monkeypatch.setattr(binding, "SIGNATURES", binding.SIGNATURES | {"NoSuchFunction": (None,)})
    binding.functions.cache_clear()
    with pytest.raises(ImportError, match="NoSuchFunction"):
        binding.functions()
    monkeypatch.undo()
    binding.functions.cache_clear()


def test_the_verifier_runs_with_checks(machine):
    invalid = """
define i64 @f(i1 %c, i64 %x) {
entry:
  br i1 %c, label %left, label %right
left:
  %y = add i64 %x, 1
  br label %right
right:
  ret i64 %y
}
"""
    with config.enable_checks(True), pytest.raises(RuntimeError, match="does not dominate"):
        machine.object(invalid)


def test_known_versions_need_no_check():
    assert binding.functions().version in binding._KNOWN_VERSIONS


def test_modules_become_objects_and_assembly(machine):
    assert machine.object(ADDITION)[:4] == b"\x7fELF"
    assert "f:" in machine.assembly(ADDITION)


@pytest.mark.parametrize("text", ["define", "define i64 @f() {\n  ret i32 0\n}"])
def test_invalid_modules_are_errors(machine, text):
    with pytest.raises(RuntimeError, match="LLVM cannot parse a module"):
        machine.object(text)
    assert machine.object(ADDITION)  # the machine is still usable


def test_unknown_targets_are_errors():
    with pytest.raises(RuntimeError, match="nowhere"):
        binding.TargetMachine("nowhere-unknown-none", "", "", 2)


def test_the_processor_is_described():
    features = binding.cpu_features()
    assert binding.cpu_name() and "-" in binding.process_triple()
    assert {True, False} >= set(features.values()) and all(features)


def test_without_llvmlite(monkeypatch):
    monkeypatch.setattr(binding, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install llvmlite"):
        binding.library_path()
