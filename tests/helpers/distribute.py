"""Distribution of tests to processes: pytest-xdist's, without its cost for each test.

With tens of thousands of tests two parts of pytest-xdist take a minute of processor time. Its
scheduler counts all tests that a process was ever given when one of them ends, and searches the whole
list for the position of each that it sends: quadratic in the number of tests. And a process sends six
messages for a test, of which four say that nothing happened.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

# Preparations that take longer are reported, for `--durations`.
REPORTED_SECONDS = 0.005


class FileScheduling(LoadFileScheduling):
    """Gives processes whole files, in linear time; a test that kills its process is not run again."""

    def schedule(self) -> None:
        """Distributes the first files, once all processes have collected the same tests."""
        self._positions = {
            x: i for i, x in enumerate(next(iter(self.registered_collections.values())))
        }
        super().schedule()

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        """Marks a test as run, and forgets files that are: only pending ones are counted."""
        files = self.assigned_work[node]
        super().mark_test_complete(node, item_index, duration)
        file = self._split_scope(self.registered_collections[node][item_index])
        if all(files[file].values()):
            del files[file]

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Sends the next file's tests to a process."""
        file, tests = self.workqueue.popitem(last=False)
        self.assigned_work[node][file] = tests
        with contextlib.suppress(OSError):  # of a process that has just died: `remove_node` follows
            node.send_runtest_some([self._positions[x] for x, done in tests.items() if not done])

    def remove_node(self, node: WorkerController) -> str | None:
        """Gives the tests of a process that has ended to others, but for the one that it ran."""
        files = self.assigned_work.pop(node)
        pending = [
            (file, test) for file, tests in files.items() for test in tests if not tests[test]
        ]
        if not pending:
            return None
        file, crashed = pending[0]
        files[file][crashed] = True
        self.workqueue.update({x: tests for x, tests in files.items() if not all(tests.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed


def run_and_report(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Runs a test in a process of pytest-xdist, and reports what is not an empty setup or teardown."""
    reports: list[Any] = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        if report.when == "call" or not report.passed or report.duration > REPORTED_SECONDS:
            item.ihook.pytest_runtest_logreport(report=report)
    return True
