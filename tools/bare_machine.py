"""Runs the project's commands on a machine that has a newer Python, and neither a compiler nor make.

    python tools/bare_machine.py tour test

The machine is a folder, build/machine: a Debian that `debootstrap` unpacks from the mirror of this
one's apt, entered with `chroot` in mounts of its own. It gets a copy of the files that git knows, and
runs `tools/run.py` on each argument, with the newest versions of all dependencies: on all of them,
whatever the first ones say. The status is that of the first that fails. All this takes root on a
Debian. Elsewhere the commands run on this machine as it is, so that all tests are run in any case;
where CI=true is in the environment they are not, which is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MACHINE = ROOT / "build" / "machine"
SUITE = "trixie"  # has Python 3.13
MIRROR = "https://deb.debian.org/debian"
SOURCES = (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list"))
OS_RELEASE = Path("/etc/os-release")
PACKAGES = "python3,python3-venv,python3-dev,ca-certificates"
# What leads to package indexes: there as here.
SHARED = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/pip.conf",
    "/etc/ssl/certs/ca-certificates.crt",
)

# Mounts end with the namespace that `unshare` makes. The copy of the project is the working folder.
ENTER = """
set -e
mount --make-rprivate /
mount -t proc proc "$0/proc"
mount --rbind /sys "$0/sys"
mount --rbind /dev "$0/dev"
mount -t tmpfs tmpfs "$0/tmp"
exec chroot "$0" /bin/sh -c 'cd /project && exec "$@"' sh "$@"
"""


def mirror() -> str:
    """Returns where apt gets Debian's packages from; Debian's own address where it does not say."""
    for path in SOURCES:
        lines = path.read_text().splitlines() if path.exists() else []
        for words in map(str.split, lines):
            addresses = [word for word in words[1:] if "://" in word]
            if addresses and words[0] in ("URIs:", "deb"):
                return addresses[0]
    return MIRROR


def _is_debian() -> bool:
    """Whether this is Debian itself: systems that are made from it have /etc/debian_version, too."""
    return OS_RELEASE.exists() and "ID=debian" in OS_RELEASE.read_text().splitlines()


def obstacle() -> str | None:
    """Returns why there can be no such machine here; None if there can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "it takes root on Linux"
    if not _is_debian():
        return "it takes a Debian, with its debootstrap"
    if shutil.which("debootstrap") is None:
        for command in (
            ["apt-get", "-qq", "update"],
            ["apt-get", "-qqy", "install", "debootstrap"],
        ):
            if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
                return "debootstrap cannot be installed"
    return None


def make_machine() -> None:
    """Unpacks the Debian, if it is not there."""
    ready = MACHINE / ".ready"
    if ready.exists():
        return
    shutil.rmtree(MACHINE, ignore_errors=True)
    MACHINE.mkdir(parents=True)
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(MACHINE)]
    made = subprocess.run([*command, mirror()], capture_output=True, text=True, check=False)
    if made.returncode:
        raise SystemExit(f"bare_machine: debootstrap failed\n{made.stdout[-2000:]}{made.stderr}")
    ready.touch()


def share_network() -> None:
    """Copies what leads to package indexes."""
    for name in SHARED:
        if Path(name).exists():
            target = MACHINE / name.lstrip("/")
            target.unlink(missing_ok=True)
            shutil.copyfile(name, target)


def copy_project() -> None:
    """Copies the files that git knows, as a fresh clone has them; environments there stay."""
    project = MACHINE / "project"
    project.mkdir(exist_ok=True)
    for stamp in project.glob(".venv/.*"):  # what was built in place goes, and is built anew
        stamp.unlink()
    for old in project.iterdir():
        if not old.name.startswith(".venv"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=True
    )
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).exists():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, project / name)


def run(*command: str) -> int:
    """Runs a command on the machine; returns its status."""
    environment = {k: v for k, v in os.environ.items() if k != "PIP_FIND_LINKS"}
    environment |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
    enter = ["unshare", "--mount", "sh", "-c", ENTER, str(MACHINE), *command]
    return subprocess.run(enter, env=environment, check=False).returncode


def run_here(*words: str) -> int:
    """Runs a program of Python's on this machine; returns its status."""
    return subprocess.run([sys.executable, *words], cwd=ROOT, check=False).returncode


def run_all(commands: list[str], python: Callable[..., int]) -> int:
    """Runs each command of `tools/run.py`; returns the first status other than 0."""
    statuses = [python("tools/run.py", *command.split()) for command in commands]
    return next(filter(None, statuses), 0)


def main(commands: list[str]) -> int:
    """Runs the commands, on a bare machine if there can be one; returns the first status but 0."""
    reason = obstacle()
    if reason is not None:
        if os.environ.get("CI") == "true":
            print(f"bare_machine: NOT RUN, nor any test: {reason}", flush=True)
            return 1
        print(f"bare_machine: not on a bare machine ({reason}), but on this one", flush=True)
        return run_all(commands, run_here)
    make_machine()
    share_network()
    copy_project()
    for tool in ("cc", "gcc", "clang", "make"):
        if run("sh", "-c", f"command -v {tool}") == 0:
            print(f"bare_machine: {tool} is there, and should not be")
            return 1
    return run_all(commands, lambda *words: run("python3", *words))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
