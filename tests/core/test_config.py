"""Options: JAX's names, defaults and checks of values; which act, and what says so."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.oracle import answer, jax as real

import jitney as jax
import jitney.numpy as jnp
from jitney.core.settings import config

SETTINGS = Path(__file__).parents[2] / "docs" / "settings.md"


def defaults_of_jax():
    """Of a process of its own: others may have set options."""
    program = (
        "import json, jax\n"
        "values = {name: jax.config._read(name) for name in jax.config.values}\n"
        "print(json.dumps({k: getattr(v, 'name', v) for k, v in values.items()}))\n"
    )
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "JITNEY_"))}
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=plain
    )
    return json.loads(out.stdout)


def test_jaxs_options_with_its_defaults():
    for name, theirs in answer(defaults_of_jax).items():
        ours = config.option(name).default
        same = str(ours).lower() == str(theirs).lower() if isinstance(ours, str) else ours == theirs
        assert same, (name, ours, theirs)


@pytest.mark.parametrize(
    "name, good, bad",
    [
        ("jax_xla_profile_version", 3, "3"),
        ("jax_pgle_profiling_runs", 1, "much"),
        ("jax_source_url_schema", "x", 3),
        ("jax_use_magma", "on", "maybe"),
        ("jax_cpu_collectives_implementation", None, "carrier pigeons"),
        ("jax_explicit_x64_dtypes", "error", "never"),
    ],
)
def test_values_are_checked_and_kept(name, good, bad):
    before = config.config.read(name)
    try:
        jax.config.update(name, good)
        assert getattr(jax.config, name) == good
        with pytest.raises(ValueError, match="this option takes"):
            jax.config.update(name, bad)
        refused = answer(lambda: real.config.update(name, bad))
        assert refused.name in ("ValueError", "TypeError")
    finally:
        jax.config.update(name, before)


def test_the_document_lists_all_options():
    acting, others = SETTINGS.read_text().split("## Without effect")
    for option in config._all_states().values():
        assert f"`{option.name}`" in (acting if option.effective else others), option.name
        assert f"`{option.name}`" not in (others if option.effective else acting), option.name


def test_options_without_effect_are_read_by_nothing():
    root = Path(jax.__file__).parent
    code = "".join(f.read_text() for f in root.rglob("*.py") if f.name not in ("config.py",))
    for name, option in vars(config).items():
        if not getattr(option, "effective", True):
            assert not re.search(rf"\bconfig\.{name}\b", code), name


def test_explicit_64_bit_dtypes_can_be_errors():
    with config.explicit_x64_dtypes("error"):
        with pytest.raises(ValueError, match=r"float64 in zeros .*jax_enable_x64"):
            jnp.zeros(2, np.float64)
        assert jnp.zeros(2, float).dtype == np.float32
        with pytest.raises(ValueError, match=r"float64 in dtype .*jax_enable_x64"):
            jnp.result_type(np.dtype("float64"))
        assert jnp.result_type(np.zeros(2)) == np.float32


def test_options_that_libraries_add(monkeypatch):
    class Holder:
        value = 1

        def _set(self, value):
            self.value = value

    def use(jax, name):
        jax.config.add_option(name, Holder(), int, [], {"help": "of a library"})
        jax.config.update(name, 3)
        got = [jax.config.read(name), jax.config.meta[name][0] is int, name in jax.config.values]
        return [*got, hasattr(jax.config, name)]

    monkeypatch.setattr(config, "_added", {})
    assert use(jax, "added_here") == answer(lambda: use(real, "added_there"))
    with pytest.raises(ValueError, match="already"):
        use(jax, "added_here")
    with pytest.raises(ValueError, match="already"):
        use(jax, "jax_enable_x64")


def test_flags_of_options():
    def kinds(jax):
        names = (
            "jax_enable_x64 jax_num_cpu_devices jax_compilation_cache_dir jax_optimization_level"
        )
        flags = [jax.config.meta[name] for name in names.split()]
        return [
            (getattr(kind, "__name__", kind), more.get("enum_values")) for kind, _, more in flags
        ]

    assert kinds(jax) == answer(lambda: kinds(real))
    assert jax.config.meta["jax_enable_x64"][2]["help"]
    assert jax.config.use_absl is False


def test_flags_of_absl(tmp_path):
    pytest.importorskip("absl")
    program = tmp_path / "program.py"
    program.write_text(
        "import jitney as jax\n"
        "jax.config.parse_flags_with_absl()\n"
        "print(jax.config.jax_enable_x64, jax.config.jax_use_magma, jax.config.jax_debug_nans)\n"
    )
    arguments = ["--jax_enable_x64", "--jax_use_magma=off", "--mine=3"]
    out = subprocess.run(
        [sys.executable, str(program), *arguments], capture_output=True, text=True, check=True
    )
    assert out.stdout.split() == ["True", "off", "False"]
