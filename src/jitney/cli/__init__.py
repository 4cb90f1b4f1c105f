"""The command-line interface: `jitney program.py`, `jitney tour`."""
