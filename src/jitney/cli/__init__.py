"""The command line: `jitney program.py`, `jitney tour`."""
