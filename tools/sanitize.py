"""The native core under AddressSanitizer or ThreadSanitizer: `make sanitize`.

    python tools/sanitize.py address thread

builds the extension modules with each sanitizer into build/sanitize, and runs the tests that exercise
them most there, the sanitizer's library loaded first (GCC, on Linux). A report of the sanitizer stops
the test that it is about. What is instrumented is our C code and Cython's; the machine code that LLVM
writes for programs is not, nor are Python and NumPy. But the allocator is AddressSanitizer's
throughout: freed memory is kept aside and filled, so code that reads it gives wrong numbers, which
the tests see.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUPPRESSIONS = Path(__file__).resolve().with_name("sanitize_thread.txt")

TESTS = (
    "tests/runtime/test_reentrant_callbacks.py",
    "tests/runtime/test_forking.py",
    "tests/runtime/test_threads.py",
    "tests/runtime/test_native_calls.py",
    "tests/api/test_jit_threads.py",
    "tests/runtime/test_disk_cache.py",
    "tests/runtime/test_memory.py",
    "tests/runtime/test_input_lifetime.py",
    "tests/compiler/test_lapack.py",
    "tests/compiler/test_convolutions.py",
)

FLAGS = {
    "address": "-fsanitize=address -fno-omit-frame-pointer -g -O1",
    "thread": "-fsanitize=thread -g -O1",
}
LIBRARY = {"address": "libasan.so", "thread": "libtsan.so"}


def options(sanitizer: str) -> dict[str, str]:
    """The environment variables of a run."""
    shared = "halt_on_error=1:exitcode=66"
    if sanitizer == "address":
        # Python frees little at its end, which is not a leak of ours; all freed memory is filled.
        return {
            "ASAN_OPTIONS": f"{shared}:detect_leaks=0:max_free_fill_size=1000000000:free_fill_byte=127",
            "PYTHONMALLOC": "malloc",
        }
    # Forks of threaded processes are among what is tested.
    known = f"suppressions={SUPPRESSIONS}"
    return {"TSAN_OPTIONS": f"{shared}:die_after_fork=0:report_signal_unsafe=0:{known}"}


def build(sanitizer: str) -> Path:
    """Builds the package with `sanitizer`; gives the folder that has it."""
    place = ROOT / "build" / "sanitize" / sanitizer
    flags = FLAGS[sanitizer]
    command = [
        sys.executable, "setup.py", "-q", "build", "--force", "--build-lib", str(place),
        "--build-temp", str(place.with_suffix(".objects")),
    ]  # fmt: skip
    environment = {**os.environ, "CFLAGS": flags, "LDFLAGS": flags}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return place


def library(sanitizer: str) -> str:
    """Where the sanitizer's library is; it has to be loaded before all others."""
    command = ["gcc", f"-print-file-name={LIBRARY[sanitizer]}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if not os.path.isabs(found):
        raise SystemExit(f"sanitize: gcc has no {LIBRARY[sanitizer]}")
    return os.path.realpath(found)


def run(sanitizer: str, words: list[str]) -> int:
    """Builds, and runs pytest with `words`; gives its exit code."""
    environment = {
        **os.environ,
        **options(sanitizer),
        "PYTHONPATH": str(build(sanitizer)),
        "LD_PRELOAD": library(sanitizer),
        "JITNEY_NUM_THREADS": "4",
        "JITNEY_SANITIZER": sanitizer,
    }
    # Where addresses are random in more bits than ThreadSanitizer expects, it does not start.
    command = ["setarch", "-R", sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words]
    print(f"--- {sanitizer}", flush=True)
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    chosen = [word for word in sys.argv[1:] if word in FLAGS] or list(FLAGS)
    words = [word for word in sys.argv[1:] if word not in FLAGS] or list(TESTS)
    sys.exit(max([run(sanitizer, words) for sanitizer in chosen]))
