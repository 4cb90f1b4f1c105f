"""Operations come from lines of the user's code, within scopes."""

import functools
import sys

import pytest

from jitney.core.source import source_info
from jitney.core.source.name_stack import NameStack
from jitney.core.source.source_info import SourceInfo, current_name_stack, named_scope, summarize


def here():
    return source_info.source_info(
        source_info.Place(sys._getframe().f_code, sys._getframe().f_lasti), NameStack()
    )


def test_summaries_name_file_line_column_and_function():
    info = here()
    text = summarize(info)
    line, column = info.position()
    first = here.__code__.co_firstlineno
    assert text == f"{__file__}:{line}:{column} (here)"
    assert first < line <= first + 3
    assert summarize(None) == summarize(SourceInfo(None, 0, NameStack())) == ""


def test_the_text_between_columns_counts_bytes():
    assert source_info.stretch(["é = f(x,\n", "      y)  # é\n"], 5, 8) == "f(x, y)"
    assert source_info.stretch(["abc"], 1, None) == "bc"
    assert source_info.stretch(["abcdef"], 1, 3) == "bc"
    assert source_info.stretch([], 0, 3) == ""


def test_scopes_nest_and_are_restored_after_errors():
    outside = current_name_stack()
    with named_scope("a"), source_info.transform_name_stack("jvp") as stack:
        assert stack is current_name_stack()
        with pytest.raises(ZeroDivisionError), source_info.extend_name_stack("b"):
            assert str(current_name_stack()).endswith("a/jvp(b)")
            1 / 0  # noqa: B018
        assert current_name_stack() == stack
        with source_info.reset_name_stack():
            assert current_name_stack() == ()
        with source_info.no_scopes():
            assert current_name_stack() == ()
    assert current_name_stack() == outside
    with pytest.raises(TypeError, match="the name must be a string, got 3"):
        named_scope(3)


def test_functions_run_in_a_scope_of_their_name():
    def layer():
        return str(current_name_stack())

    assert source_info.named_call(layer)() == "layer"
    assert source_info.named_call(layer, name="first")() == "first"


def test_origins_replace_the_place_of_operations_that_follow():
    info = here().replace(name_stack=NameStack().extend("inner"))
    with named_scope("outer"), source_info.origins() as come_from:
        come_from(info)
        found = source_info.current()
        assert found.code is info.code
        assert str(found.name_stack) == "outer/inner"
        come_from(None)
        assert source_info.scopes.origin is None
        come_from(info)
    assert source_info.scopes.origin is None


def test_excluded_files_are_internal():
    code = compile("0", "/tmp/test_excluded_library/a.py", "eval")
    assert not source_info.is_internal(code)
    source_info.register_exclusion("/tmp/test_excluded_library/")
    try:
        assert source_info.is_internal(code)
    finally:
        source_info.exclude_paths.remove("/tmp/test_excluded_library/")
        source_info._internal.clear()
    assert source_info.is_internal(named_scope.find.__code__)
    assert source_info.is_own(NameStack())
    assert not source_info.is_own(())


def test_functions_are_found_through_wrappers_and_partials():
    @functools.wraps(here)
    def wrapper():
        pass

    class Callable:
        def __call__(self):
            pass

    where = f"here at {__file__}:{here.__code__.co_firstlineno}"
    assert source_info.fun_sourceinfo(functools.partial(wrapper, 1)) == where
    assert source_info.fun_sourceinfo(Callable()).startswith(f"Callable at {__file__}:")
    assert source_info.fun_sourceinfo(len) == "len"
