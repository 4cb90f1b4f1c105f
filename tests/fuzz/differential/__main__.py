"""The command: `make fuzz`, or `PYTHONPATH=src python -m tests.fuzz.differential --help`.

run     random programs in worker processes; failures are shrunk and written to a folder
show    the program of a seed
try     a file of the corpus, or any script of that form
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.fuzz.differential import supervise


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="tests.fuzz.differential", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    commands = parser.add_subparsers(dest="command", required=True)
    go = commands.add_parser("run")
    go.add_argument("--count", type=int, default=1000, help="programs")
    go.add_argument("--seed", type=int, default=0, help="of the first program")
    go.add_argument("--seconds", type=float, default=float("inf"), help="stop after that time")
    go.add_argument("--without-jax", action="store_true", help="compiled against interpreted only")
    go.add_argument("--no-shrink", action="store_true")
    go.add_argument("--folder", type=Path, default=Path("fuzz-failures"))
    show = commands.add_parser("show")
    show.add_argument("seed", type=int)
    shrink = commands.add_parser("shrink")
    shrink.add_argument("seed", type=int)
    trying = commands.add_parser("try")
    trying.add_argument("file", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "run":
        supervise.run(options.seed, options.count, options.seconds, not options.without_jax,
                      not options.no_shrink, options.folder)  # fmt: skip
    elif options.command == "show":
        from tests.fuzz.differential import generate

        print(generate.program(options.seed).source())
    elif options.command == "shrink":
        print(supervise.shrunk(options.seed))
    else:
        from tests.fuzz.differential import corpus

        for file in options.file:
            print(file.name, corpus.outcome(file.read_text()) or "ok")


if __name__ == "__main__":
    main()
