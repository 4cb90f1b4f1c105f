"""What the lint says of messages of commits: `tools/commits.py`."""

import shutil
import subprocess

import pytest
from tools import commits


@pytest.mark.parametrize(
    "message",
    [
        "Add a rule\n\nBecause there was none.",
        "Pass arrays by reference\n\nCopies took longer than the product.\n\nOf 10 MB and more.",
        "Speed up sums\n\n" + "x" * 100,
        "Embed: bring rows together\n\nWhy.",
    ],
)
def test_messages_that_pass(message):
    assert not [*commits.faults(message)]


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("Add " + "x" * 70 + "\n\nWhy.", "74 characters, of 72"),
        ("Add a rule.\n\nWhy.", "full stop"),
        ("add a rule\n\nWhy.", "capital letter"),
        ("Added a rule\n\nWhy.", "'Added', which is not an imperative"),
        ("Adds a rule\n\nWhy.", "'Adds', which is not an imperative"),
        ("Adding a rule\n\nWhy.", "'Adding', which is not an imperative"),
        ("The rule of sums\n\nWhy.", "'The', which is not an imperative"),
        ("Add a rule", "no body"),
        ("Add a rule\n\n\n", "no body"),
        ("Add a rule\nWhy.", "no blank line"),
        ("Add a rule\n\n" + "x" * 101, "101 characters, of 100"),
    ],
)
def test_faults(message, fault):
    (found,) = commits.faults(message)
    assert fault in found


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_commits_of_a_repository(tmp_path, monkeypatch, capsys):
    def git(*arguments):
        identity = ["-c", "user.name=N", "-c", "user.email=e@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    git("init", "-q")
    for message in ("Begin\n\nWhy.", "Add a rule\n\nWhy.", "fixes"):
        git("commit", "-q", "--allow-empty", "-m", message)
    monkeypatch.setattr(commits, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["commits.py", "HEAD~1.."])
    assert commits.main() == 1
    assert "fixes: the subject begins with 'fixes', without a capital" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["commits.py", "HEAD~2..HEAD~1"])
    assert commits.main() == 0
    monkeypatch.setattr("sys.argv", ["commits.py"])  # the history begins later
    assert commits.main() == 0
    assert "0 messages" in capsys.readouterr().out
