"""One process of a benchmark: `python -m benchmarks.worker NAME` or `--first PACKAGE NAME`.

Each case runs in a process of its own, so that none profits or suffers from what ran before it, and
one that crashes takes no other along.
"""

from __future__ import annotations

import argparse


def main() -> None:
    """Measures one case and prints one line: the result, or the first call's seconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worker")
    parser.add_argument("name")
    parser.add_argument("--first", metavar="PACKAGE")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()

    from benchmarks import measure
    from benchmarks.harness import all_cases

    c = all_cases()[options.name]
    if options.first:
        print(measure.first_time(c, options.first))
        return
    effort = measure.QUICK if options.quick else measure.Effort()
    try:
        result = measure.measure_warm(c, effort)
    except Exception as error:
        first = str(error).strip().splitlines()
        result = measure.Result(c.name, error=f"{type(error).__name__}: {' '.join(first[:3])}")
    print(result.as_json())


if __name__ == "__main__":
    main()
