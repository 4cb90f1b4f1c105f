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


def _git(folder, *arguments):
    identity = ["-c", "user.name=N", "-c", "user.email=e@example.org"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository of three commits, the last of which is refused; the check begins with the first."""
    folder = tmp_path / "repository"
    folder.mkdir()
    _git(folder, "init", "-q")
    for message in ("Begin\n\nWhy.", "Add a rule\n\nWhy.", "fixes"):
        _git(folder, "commit", "-q", "--allow-empty", "-m", message)
    monkeypatch.setattr(commits, "ROOT", folder)
    monkeypatch.setattr(commits, "BEGIN", _git(folder, "rev-parse", "HEAD~2"))
    return folder


def _check(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["commits.py", *arguments])
    return commits.main()


@NEEDS_GIT
def test_commits_of_a_repository(repository, monkeypatch, capsys):
    for arguments in ((), ("HEAD~1..",)):
        assert _check(monkeypatch, *arguments) == 1
        assert (
            "fixes: the subject begins with 'fixes', without a capital" in capsys.readouterr().out
        )
    assert _check(monkeypatch, "HEAD~2..HEAD~1") == 0
    assert "messages of commits: 1, faults: 0" in capsys.readouterr().out
    _git(repository, "checkout", "-q", "HEAD~2")  # where the check began
    assert _check(monkeypatch) == 0
    assert "messages of commits: 0, faults: 0" in capsys.readouterr().out


@NEEDS_GIT
def test_a_range_that_is_not_there_fails(repository, monkeypatch, capsys):
    assert _check(monkeypatch, "nothing..") == 1
    monkeypatch.setattr(commits, "BEGIN", "0" * 40)
    assert _check(monkeypatch) == 1
    assert "finds no range 000" in capsys.readouterr().out


@NEEDS_GIT
@pytest.mark.parametrize(("depth", "status"), [(1, 0), (2, 0), (3, 1)])
def test_shallow_clones(repository, monkeypatch, tmp_path, capsys, depth, status):
    """What is cut off after the check began is not checked; what reaches back to it is."""
    _git(tmp_path, "clone", "-q", f"--depth={depth}", f"file://{repository}", "shallow")
    monkeypatch.setattr(commits, "ROOT", tmp_path / "shallow")
    assert _check(monkeypatch) == status
    said = capsys.readouterr().out
    assert ("not checked: this shallow clone" in said) == (status == 0)


@NEEDS_GIT
def test_a_folder_in_another_repository_has_none(repository, monkeypatch, capsys):
    (repository / "unpacked").mkdir()
    monkeypatch.setattr(commits, "ROOT", repository / "unpacked")
    assert _check(monkeypatch) == 0
    assert "not checked: there is no repository" in capsys.readouterr().out
