"""What wheels there are: platforms, and what zig, pip and the names of files call each."""

from __future__ import annotations

from dataclasses import dataclass

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# Modules that only hand out addresses of C functions: one file of the stable ABI serves every Python,
# and nothing is slower for it. The others run at each of a user's calls, where macros of a Python's own
# ABI take the place of calls into the interpreter: they are compiled for each Python.
STABLE = frozenset({"_convolve", "_factorize", "_fourier", "_multiply"})
STABLE_API = 0x030B0000  # that of the oldest Python


@dataclass(frozen=True)
class Platform:
    """A system and a processor that wheels are built for.

    Attributes:
      tag: of wheels; the parts that dots divide mean the same.
      triple: zig's name of the target, with the oldest C library or system that will do.
      cpu: zig's name of the least processor.
      suffix: of extension modules, after the version of Python.
      downloads: platforms of wheels that pip may take for this one, the best first.
    """

    tag: str
    triple: str
    suffix: str
    downloads: tuple[str, ...]
    cpu: str = "baseline"

    @property
    def is_mac(self) -> bool:
        return "macos" in self.triple

    @property
    def is_musl(self) -> bool:
        return "musl" in self.triple

    @property
    def machine(self) -> str:
        """The processor, as Debian's and Linux' tools call it: x86_64 or aarch64."""
        return self.triple.partition("-")[0]

    def file_name(self, module: str, python: str) -> str:
        """The name of a module's file; `python` is "" for the stable ABI."""
        if not python:
            return f"{module}.abi3.so"
        return f"{module}.cpython-{python.replace('.', '')}-{self.suffix}.so"

    def wheel_tags(self, python: str) -> list[str]:
        """The tags of a wheel for `python`."""
        version = f"cp{python.replace('.', '')}"
        return [f"{version}-{version}-{part}" for part in self.tag.split(".")]


def _linux(machine: str) -> tuple[Platform, Platform]:
    glibc = Platform(
        tag=f"manylinux_2_17_{machine}.manylinux2014_{machine}",
        triple=f"{machine}-linux-gnu.2.17",
        suffix=f"{machine}-linux-gnu",
        downloads=tuple(
            f"{name}_{machine}"
            for name in ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
        ),
    )
    musl = Platform(
        tag=f"musllinux_1_2_{machine}",
        triple=f"{machine}-linux-musl",
        suffix=f"{machine}-linux-musl",
        downloads=(f"musllinux_1_2_{machine}",),
    )
    return glibc, musl


def _mac(machine: str, name: str, oldest: str, cpu: str) -> Platform:
    return Platform(
        tag=f"macosx_{oldest.replace('.', '_')}_{name}",
        triple=f"{machine}-macos.{oldest}",
        suffix="darwin",
        downloads=tuple(
            f"macosx_{system}_{name}" for system in ("14_0", "12_0", "11_0", "10_15", "10_13")
        ),
        cpu=cpu,
    )


PLATFORMS = (
    *_linux("x86_64"),
    *_linux("aarch64"),
    _mac("aarch64", "arm64", "11.0", "apple_m1"),
    _mac("x86_64", "x86_64", "11.0", "baseline"),
)
