"""A pytest plugin of `library_suites.py`: runs a sample of the tests, and writes down each as it ends.

Loaded by `-p suite_plugin`. The environment's SUITE_ORDER names a JSON file: {"log": file, "sample":
share, "only": ids or null, "skip": ids, "seconds": number or null}. The log gets a JSON line [id, null]
when a test begins and [id, error] when it ends, "" for none and "skipped" for those that were not run,
so what a process did is known even if it dies.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

SKIPPED = "skipped"


def in_sample(test: str, share: float) -> bool:
    """Whether a test belongs to the sample of this share: the same ones each time."""
    digest = hashlib.sha256(test.encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


class Recorder:
    """Chooses tests by the order, and logs them."""

    def __init__(self, order: dict) -> None:
        self.order = order
        self.log = Path(order["log"])
        self.errors: dict[str, str] = {}
        self.begun = time.monotonic()

    def write(self, test: str, error: str | None) -> None:
        with self.log.open("a") as log:
            log.write(json.dumps([test, error]) + "\n")

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        only, skip = self.order["only"], set(self.order["skip"])
        only = None if only is None else set(only)
        chosen = [
            item
            for item in items
            if in_sample(item.nodeid, self.order["sample"])
            and item.nodeid not in skip
            and (only is None or item.nodeid in only)
        ]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        # In an order by hash, a run that is cut short has done a sample too.
        items[:] = sorted(chosen, key=lambda item: hashlib.sha256(item.nodeid.encode()).digest())

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            errors = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
            print(f"not collected: {report.nodeid}: {(errors or [''])[-1][1:].strip()}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        done = yield
        # Modules turn float64 on for themselves, and take for granted that others have other processes.
        jax = sys.modules.get("jax")
        if jax is not None and (nextitem is None or nextitem.path != item.path):
            jax.config.update("jax_enable_x64", False)
        return done

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        seconds = self.order["seconds"]
        if seconds is not None and time.monotonic() - self.begun > seconds:
            pytest.exit("the time is up")
        self.write(nodeid, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Reports of subtests come with the id of their test.
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            message = crash.message if crash is not None else report.longreprtext
            self.errors.setdefault(report.nodeid, first_line(message))
        elif report.skipped:
            self.errors.setdefault(report.nodeid, SKIPPED)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.write(nodeid, self.errors.pop(nodeid, ""))


def first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:300] if lines else "failed"


def pytest_configure(config: pytest.Config) -> None:
    order = json.loads(Path(os.environ["SUITE_ORDER"]).read_text())
    config.pluginmanager.register(Recorder(order))


def pytest_collection_finish() -> None:
    # Tests of absl expect the flags to be read, as absl's own `main` would have done.
    flags = sys.modules.get("absl.flags")
    if flags is not None:
        flags.FLAGS.mark_as_parsed()
