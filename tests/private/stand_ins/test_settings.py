"""Options of the configuration are objects without the prefix of their names."""

import pytest

import jitney
from jitney.private.stand_ins import settings


def test_options_have_values_and_contexts():
    before = settings.enable_x64.value
    assert before == jitney.config.jax_enable_x64 == settings.read("jax_enable_x64")
    with settings.enable_x64(not before):
        assert settings.enable_x64.value is (not before)
        assert jitney.config.jax_enable_x64 is (not before)
    assert settings.enable_x64.value == before
    assert settings.jax_enable_x64 is settings.enable_x64


def test_settings_are_part_of_the_key_of_traces():
    before = settings.trace_context()
    with settings.enable_x64(not settings.enable_x64.value):
        assert settings.trace_context() != before
    assert settings.trace_context() == before


def test_unknown_options_are_missing_attributes():
    with pytest.raises(AttributeError, match="unknown option jax_of_no_such_name"):
        settings.of_no_such_name  # noqa: B018
