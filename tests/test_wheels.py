"""Wheels: what they are called and made of, and that faults in them are found; `tools/wheels`."""

import base64
import dataclasses
import hashlib
import zipfile
from pathlib import Path

import pytest
from tools.wheels import build, check, debian, headers
from tools.wheels.targets import PLATFORMS, PYTHONS, STABLE

MODULES = (
    "_native", "_loader", "_convolve", "_factorize", "_fourier", "_multiply", "_walks", "_contexts",
)  # fmt: skip
ARM = next(p for p in PLATFORMS if p.triple == "aarch64-linux-gnu.2.17")


@pytest.fixture
def shared(tmp_path: Path) -> build.Parts:
    files, metadata = tmp_path / "files", tmp_path / "made" / "jitney-0.1.0.dist-info"
    (files / "jitney").mkdir(parents=True)
    (files / "jitney" / "__init__.py").write_text("answer = 42\n")
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Name: jitney\n")
    modules = [build.Module(name, "jitney/core", Path(f"{name}.c"), ()) for name in MODULES]
    return build.Parts(files, metadata, modules)


def _packed(
    shared: build.Parts, tmp_path: Path, python: str = "3.13", image: bytes = b"code"
) -> Path:
    compiled = {}
    for name in MODULES:
        compiled[name] = tmp_path / ARM.file_name(name, "" if name in STABLE else python)
        compiled[name].write_bytes(image)
    return build.pack(shared, compiled, ARM, python, tmp_path / "dist")


@pytest.fixture(autouse=True)
def audits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other programs find is theirs to test; they are not installed with the tests."""
    monkeypatch.setattr(check, "_stable_faults", lambda data: [])
    monkeypatch.setattr(check, "_policy_faults", lambda wheel, platform: [])


def test_there_is_a_name_for_each_platform_and_python():
    names = {(p.file_name("_native", v), p.tag) for p in PLATFORMS for v in PYTHONS}
    assert len(names) == len(PLATFORMS) * len(PYTHONS)
    assert ARM.file_name("_native", "3.12") == "_native.cpython-312-aarch64-linux-gnu.so"
    assert ARM.file_name("_fourier", "") == "_fourier.abi3.so"
    assert ARM.wheel_tags("3.12") == [
        "cp312-cp312-manylinux_2_17_aarch64",
        "cp312-cp312-manylinux2014_aarch64",
    ]


def test_a_wheel_records_its_files(shared, tmp_path):
    wheel = _packed(shared, tmp_path)
    assert wheel.name == f"jitney-0.1.0-cp313-cp313-{ARM.tag}.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        record = archive.read("jitney-0.1.0.dist-info/RECORD").decode().splitlines()
        assert [line.partition(",")[0] for line in record] == names
        for line in record[:-1]:
            name, digest, size = line.split(",")
            data = archive.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert (digest, int(size)) == (f"sha256={found}", len(data))
        about = archive.read("jitney-0.1.0.dist-info/WHEEL").decode()
    assert about.count("Tag: cp313-cp313-") == 2
    assert "Root-Is-Purelib: false" in about


def test_the_same_parts_give_the_same_bytes(shared, tmp_path):
    first = _packed(shared, tmp_path).read_bytes()
    (shared.files / "jitney" / "__init__.py").touch()
    assert _packed(shared, tmp_path).read_bytes() == first


def test_a_good_wheel_has_no_faults(shared, tmp_path):
    assert check.faults(_packed(shared, tmp_path), ARM, "3.13") == []


@pytest.mark.parametrize("name", ["_native.c", "buffer.pxi", "_native.pyx", "call.h"])
def test_sources_are_faults(shared, tmp_path, name):
    (shared.files / "jitney" / name).write_text("")
    assert check.faults(_packed(shared, tmp_path), ARM, "3.13") == [f"has the source jitney/{name}"]


def test_symbols_modules_of_other_pythons_and_missing_ones_are_faults(shared, tmp_path):
    found = check.faults(_packed(shared, tmp_path, image=b"a .symtab b"), ARM, "3.13")
    assert len(found) == len(MODULES)
    assert all(fault.endswith("is not stripped") for fault in found)
    found = check.faults(_packed(shared, tmp_path), ARM, "3.12")
    assert len(found) == len(MODULES) - len(STABLE)
    assert all("cpython-312" in fault for fault in found)
    less = dataclasses.replace(shared, modules=shared.modules[1:])
    found = check.faults(_packed(less, tmp_path), ARM, "3.13")
    assert found == [f"has {len(MODULES) - 1} extension modules, not {len(MODULES)}"]


def test_macos_asks_for_functions_by_names_of_its_own():
    config = "#define SIZEOF_LONG 8\n#define _GNU_SOURCE 1\n#define _XOPEN_SOURCE 700\n"
    mac = next(p for p in PLATFORMS if p.is_mac)
    assert headers.config_of(config, ARM) == config
    assert headers.config_of(config, mac).split("\n")[0] == "#define SIZEOF_LONG 8"
    assert "_GNU_SOURCE" not in headers.config_of(config, mac)
    assert "#define _DARWIN_C_SOURCE 1" in headers.config_of(config, mac)


def test_what_debian_lacks_is_missing(tmp_path):
    with pytest.raises(debian.Missing, match=r"no Python 3\.12"):
        debian.unpack(["libpython3.12-dev"], "3.12", "x86_64", tmp_path, alone=True)
