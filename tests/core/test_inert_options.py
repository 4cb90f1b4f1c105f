"""Options without effect are listed once, with a default that is valid."""

import collections

import pytest

from jitney.core.settings.inert_options import inert_options
from jitney.core.settings.options import parser


def test_each_option_is_listed_once():
    counts = collections.Counter(name for name, _, _ in inert_options())
    assert [name for name, count in counts.items() if count > 1] == []


def test_defaults_are_valid():
    for name, default, values in inert_options():
        assert parser(values)(default) == default, name


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("jax_memory_fitting_level", "O4", "one of .*'O3'"),
        ("jax_serialization_version", "1", "None or a int"),
        ("jax_xla_profile_version", "3", "an? int"),
        ("jax_mtls_ca_file", 3, "None or a str"),
        ("jax_memory_fitting_effort", "high", "None or a float"),
    ],
)
def test_values_of_other_kinds_are_refused(name, value, message):
    values = {name: values for name, _, values in inert_options()}
    with pytest.raises(ValueError, match=message):
        parser(values[name])(value)
