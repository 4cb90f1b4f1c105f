"""The watcher says which process has died, and lets processes go that take their leave."""

import os
import select
import signal
import subprocess
import sys

import pytest

from jitney.runtime.distributed import death_watch

needs_epoll = pytest.mark.skipif(
    not hasattr(os, "pidfd_open") or not hasattr(select, "epoll"), reason="needs Linux"
)


@pytest.mark.parametrize("watched, has_other_machines", [(4, False), (2, True)])
def test_messages_name_the_process_and_what_may_have_ended_it(watched, has_other_machines):
    text = death_watch.message(2, 345, 4, watched)
    assert text.startswith("jitney: process 2 of 4 (PID 345) has ended in the middle")
    assert ("a process on another machine" in text) == has_other_machines
    assert ", or " in text and text.count("a lack of memory") == 1


@needs_epoll
@pytest.mark.parametrize("is_dismissed", [False, True])
def test_the_watcher_reports_deaths_but_no_leaves(is_dismissed):
    slept = subprocess.Popen([sys.executable, "-ISc", "input()"], stdin=subprocess.PIPE)
    read, write = os.pipe()
    os.set_blocking(read, False)
    pidfd = os.pidfd_open(slept.pid)
    with select.epoll() as epoll:
        for fd in (read, pidfd):
            epoll.register(fd, select.EPOLLIN | select.EPOLLONESHOT)
        watcher = subprocess.Popen(
            [sys.executable, "-IS", death_watch.__file__, "1", str(epoll.fileno()),
             f"0,{slept.pid},{read},{pidfd}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=(epoll.fileno(), read, pidfd),
        )  # fmt: skip
        assert watcher.stdout.read(1) == b"\n"
        if is_dismissed:
            os.write(write, b".")
        else:
            slept.send_signal(signal.SIGKILL)
        _, said = watcher.communicate(timeout=30)
    slept.kill()
    slept.communicate()
    for fd in (read, write, pidfd):
        os.close(fd)
    assert (f"process 0 of 1 (PID {slept.pid})".encode() in said) != is_dismissed
    assert watcher.returncode == 0


@needs_epoll
def test_processes_are_known_by_pid_and_namespace():
    pid, namespace = death_watch._identity()
    assert pid == os.getpid() and namespace > 0
