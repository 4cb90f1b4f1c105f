"""What holds for all tests."""

import os

# Programs are compiled, not taken from what earlier runs left on disk; tests of that iteration it on.
os.environ["JITNEY_ENABLE_COMPILATION_CACHE"] = "0"
