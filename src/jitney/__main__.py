"""`python -m jitney program.py`: runs a program that imports jax on this package."""

import sys

from jitney.cli.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
