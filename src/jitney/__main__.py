"""`python -m jitney program.py`: runs a program that imports jax with jitney in its place."""

import sys

from jitney.cli.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
