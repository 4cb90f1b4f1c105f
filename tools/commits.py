"""Checks the messages of commits: an imperative subject of one line, and a body that says why.

    python tools/commits.py               the commits since the check began; fails if any is refused
    python tools/commits.py main..        those of a range, as `git log` takes it

A subject is at most SUBJECT characters, begins with a verb in the imperative ("Add", not "Added",
"Adds", "Adding" or "The"), and ends without a full stop. A blank line separates it from the body, whose
lines are at most LINE characters. Merge commits have no message of their own.

A range that this repository does not have is a failure: it would pass for one without faults. There is
nothing to check without a repository, as in an unpacked archive, and in a shallow clone that was cut
after the check began.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUBJECT = 72
LINE = 100
# Earlier commits are as they are.
BEGIN = "52f41266"

# First words that are not verbs in the imperative, beside those that end like other forms of a verb.
_OTHERS = frozenset(
    "a an the this that these those it we you there all some no new more also when where what how "
    "why if for from in on of to with programs types values results arrays tests docs wip misc".split()
)
_FORMS = re.compile(r".{2,}(?:ed|ing|[^s]s)$")
# Verbs that end like another form of a verb.
_VERBS = frozenset("bring embed exceed feed need proceed seed shed speed bias focus alias".split())


def faults(message: str) -> Iterator[str]:
    """What is wrong with the message of a commit, a line for each."""
    subject, _, rest = message.strip("\n").partition("\n")
    if len(subject) > SUBJECT:
        yield f"the subject has {len(subject)} characters, of {SUBJECT} at most"
    if subject.endswith("."):
        yield "the subject ends with a full stop"
    first = re.split(r"[\s,:]", subject, maxsplit=1)[0]
    if not first[:1].isupper():
        yield f"the subject begins with {first!r}, without a capital letter"
    word = first.lower()
    if word in _OTHERS or (_FORMS.match(word) and word not in _VERBS):
        yield f"the subject begins with {first!r}, which is not an imperative such as 'Add' or 'Fix'"
    if rest and not rest.startswith("\n"):
        yield "no blank line follows the subject"
    if not rest.strip():
        yield "there is no body that says why"
    longest = max(map(len, rest.splitlines()), default=0)
    if longest > LINE:
        yield f"a line of the body has {longest} characters, of {LINE} at most"


def _git(*arguments: str) -> str | None:
    """What a command of git prints; None if it fails."""
    found = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout if found.returncode == 0 else None


def messages(commits: str) -> list[tuple[str, str]] | None:
    """(abbreviated hash, message) of the commits of a range; None if there is no such range here."""
    told = _git("log", "--no-merges", "--format=%h%n%B%x00", commits, "--")
    if told is None:
        return None
    entries = [entry.lstrip("\n").partition("\n") for entry in told.split("\0")]
    return [(name, text) for name, _, text in entries if name]


def _unchecked() -> str | None:
    """Why commits since the check began cannot be here; None if they have to be."""
    if not (ROOT / ".git").exists():  # a folder above may have a repository, of something else
        return "there is no repository"
    if shutil.which("git") is None:
        return "git is not installed"
    is_shallow = _git("rev-parse", "--is-shallow-repository") == "true\n"
    if is_shallow and _git("cat-file", "-e", f"{BEGIN}^{{commit}}") is None:
        return f"this shallow clone does not reach back to {BEGIN}"
    return None


def main() -> int:
    """Prints what is wrong with each message; 1 if anything is, or if there is no such range."""
    given = sys.argv[1:2]
    reason = None if given else _unchecked()
    if reason is not None:
        print(f"messages of commits are not checked: {reason}")
        return 0
    commits = given[0] if given else f"{BEGIN}.."
    found = messages(commits)
    if found is None:
        print(f"messages of commits cannot be checked: git finds no range {commits} in {ROOT}")
        return 1
    refused = 0
    for name, text in found:
        for fault in faults(text):
            refused += 1
            print(f"{name} {text.partition(chr(10))[0]}: {fault}")
    print(f"messages of commits: {len(found)}, faults: {refused}")
    return bool(refused)


if __name__ == "__main__":
    sys.exit(main())
