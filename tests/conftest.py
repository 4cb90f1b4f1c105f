"""What holds for all tests."""

import os

# Programs are compiled, not taken from what earlier runs left on disk; tests of that iteration it on.
os.environ["JITNEY_ENABLE_COMPILATION_CACHE"] = "0"
# Real jax's programs are small and run once: its optimisations cost more than they save.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)
