"""Packages of Debian's, of any suite and processor, unpacked into a folder: nothing is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tools.bare_machine import mirror

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# The suite that has a version of Python; none has the others.
SUITES = {"3.11": "bookworm", "3.13": "trixie", "3.14": "sid"}
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class Missing(Exception):
    """Something that is not on this machine and cannot be had; says what."""


def unpack(packages: list[str], python: str, machine: str, root: Path, alone: bool) -> None:
    """Unpacks packages of the suite that has `python` into `root`, unless they are there.

    Args:
      packages: their names.
      python: a key of SUITES.
      machine: a key of ARCHITECTURES.
      root: where they go, as into the root of a machine.
      alone: without what they depend on.

    Raises:
      Missing: if Debian does not have this Python, or this machine is not one of Debian's.
      SystemExit: if they cannot be downloaded.
    """
    if python not in SUITES:
        raise Missing(f"there is no Python {python} here, and Debian has none")
    if shutil.which("apt-get") is None:
        raise Missing("there is no apt-get to fetch Debian's packages")
    ready = root / ".unpacked"
    if ready.exists() and ready.read_text().split() == packages:
        return
    apt = root / "apt"
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    sources = apt / "sources.list"
    sources.write_text(f"deb [signed-by={KEYS}] {mirror()} {SUITES[python]} main\n")
    settings = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": "-",
        "Dir::State": apt / "state",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "APT::Architecture": ARCHITECTURES[machine],
        "APT::Architectures": ARCHITECTURES[machine],
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
    }
    command = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in settings.items())]
    archives = apt / "cache" / "archives"
    _run([*command, "update"], apt)
    if alone:
        _run([*command, "download", *packages], archives)
    else:
        _run([*command, "--yes", "--download-only", "install", *packages], archives)
    for package in sorted(archives.glob("*.deb")):
        _run(["dpkg-deb", "--extract", str(package), str(root)], root)
        package.unlink()
    ready.write_text("\n".join(packages))


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"wheels: {' '.join(command)} failed\n{done.stdout[-1000:]}{done.stderr}")
