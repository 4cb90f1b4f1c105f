"""The recorded oracle: what real JAX answers is data, kept in `tests/oracle`.

A test asks with a function of no arguments that computes the answer with real JAX:

    from tests.helpers.oracle import answer, jax

    theirs = answer(lambda: jax.numpy.sin(x))

`jax` stands for the real package and is imported at its first use. In most runs the function is not
called: its *digest* (`digests.py`: its source and that of the functions and classes of `tests` it uses,
the values that it closes over and the global constants that it reads) is looked up among the records
of the test module. A digest without a record fails, and says how to record. Where a question changes,
so does its digest, and the record is missing; what the digest does not see (a file that the question
reads, a module that it imports itself) has to be named as its `case`.

A record says which version of JAX has answered. The answers that count are those of the newest of
`VERSIONS`; one of an older version stands where the newest is not matched yet, or has removed what is
asked about. It is computed anew by that version alone, and stays until the newest is asked.
`python -m tests.helpers.oracle` counts the answers of each version.

Modes, chosen by options of pytest (see `tests/conftest.py`):

    (none)                  answers are read from the records; JAX need not be installed
    --live-oracle SHARE     so, and a random share of them is computed anew and compared with its record
    --record-oracle         answers that are missing are computed and written (`make oracle`)
      --record-anew         all answers are, but for those of a newer version
      --older-answers       an older version may answer questions without a record

A record holds arrays (dtype, weak type, shape, elements), texts, numbers, containers of these, and for
an error the names of its classes, not its message. Errors that the question itself has made (a name
or a module that does not exist, a fault of syntax) are raised, not recorded.
"""

from __future__ import annotations

import collections
import functools
import importlib
import importlib.metadata
import json
import lzma
import os
import types
import warnings
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.helpers.answers import (
    Raised as Raised,
    Value as Value,
    agree as agree,
    decode as decode,
    encode as encode,
)
from tests.helpers.digests import TESTS, digest as digest, is_of_tests

RECORDS = TESTS / "oracle"
VERSIONS = ("0.12.0.1", "0.10.2")  # of the JAX that answered, the newest first
PARTIAL = "partial.json"  # of one process: the files of records of which not all tests ran


class RealModule(types.ModuleType):
    """Real JAX, or a module of it, imported at the first use of an attribute."""

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        if not oracle.may_import:
            raise RuntimeError(
                f"{self.__name__}.{attribute} was used outside of answer(): mark the test `live`"
            )
        return getattr(importlib.import_module(self.__name__), attribute)

    def __repr__(self) -> str:
        return f"<real {self.__name__}>"


jax = RealModule("jax")
jnp = RealModule("jax.numpy")


class NoRecord(AssertionError):
    """A question has no answer among the records: it is new, or has changed."""


def key_of(digest: str, version: str) -> str:
    """The key of an answer of a version of JAX; the first records have the digest alone."""
    return digest if version == "0.10.2" else f"{digest} {version}"


class Records:
    """The answers of one test module.

    Attributes:
      path: their file: a JSON object {key: encoded answer}, compressed; see `key_of`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: dict[str, Any] | None = None
        self.written: dict[str, Any] = {}

    @property
    def read(self) -> dict[str, Any]:
        """What the file holds, encoded, by digest."""
        if self._read is None:
            exists = self.path.exists()
            self._read = json.loads(lzma.decompress(self.path.read_bytes())) if exists else {}
        return self._read

    def write(self, entries: Mapping[str, Any]) -> None:
        """Writes the file: the same bytes for the same entries."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = ",\n".join(
            f"{json.dumps(k)}: {json.dumps(entries[k], separators=(',', ':'))}"
            for k in sorted(entries)
        )
        part = self.path.with_suffix(".part")
        part.write_bytes(lzma.compress(f"{{\n{text}\n}}\n".encode(), preset=9))
        part.replace(self.path)


class Oracle:
    """The mode of this run, and the records of the module whose test is running.

    Attributes:
      share: of the answers, how many are computed anew and compared; 1 records them.
      seed: of the draw.
      recording: whether answers are written.
      records_anew: whether those are computed that are there.
      takes_older: whether an older version of JAX may answer what none has answered.
      may_import: whether real JAX may be used: within `answer` alone.
      computed: how many answers were computed anew and compared.
      new: how many answers were computed to be recorded.
      of_others: how many were drawn whose version of JAX is not installed.
      partial: files of records whose module has tests that did not run.
    """

    def __init__(self) -> None:
        self.share = 0.0
        self.seed = 0
        self.recording = self.records_anew = self.takes_older = False
        self.may_import = False
        self.computed = self.of_others = self.new = 0
        self.current: Records | None = None
        self.modules: dict[Path, Records] = {}
        self.partial: set[Path] = set()

    def enter(self, module: Path) -> None:
        """Takes the records of a test module."""
        path = _records_of(module)
        self.current = self.modules.setdefault(path, Records(path))

    def leave(self, module: Path) -> None:
        """Keeps the records of a test module that no test of this run asks for."""
        self.partial.add(_records_of(module))

    def find(self, found: str) -> tuple[str, str]:
        """(key, version of JAX) of the newest answer to the question of digest `found`.

        Raises:
          NoRecord: if the records of the current module have none.
        """
        assert self.current is not None
        for version in VERSIONS:
            key = key_of(found, version)
            if key in self.current.read:
                return key, version
        raise NoRecord(
            f"{_shown(self.current.path)} has no record for this case ({found}): the case is new or "
            "has changed. `make oracle PYTHON=python3.13 VENV=.venv-3.13 ORACLE=<test file>` records "
            f"it with JAX {VERSIONS[0]}, which takes Python 3.12 or newer."
        )

    def recorded(self, compute: Callable[[], Any], *case: Any) -> Any:
        """The answer as the records of the current module have it, see `find`."""
        key, _ = self.find(digest(compute, *case))
        assert self.current is not None
        return decode(self.current.read[key])

    def is_drawn(self, key: str) -> bool:
        """Whether an answer is computed anew in this run."""
        return zlib.crc32(f"{self.seed} {key}".encode()) < self.share * 2**32

    def answer(
        self,
        compute: Callable[[], Any],
        *case: Any,
        last: str | None = None,
        agrees: Callable[[Any, Any], bool] = agree,
    ) -> Any:
        """See `answer`."""
        if self.current is None:
            raise RuntimeError("answer() is for the body of a test, not for its module")
        found = digest(compute, *case)
        if self.recording:
            key, encoded = self._recorded_now(found, compute, last)
            if not agree(decode(self.current.written.setdefault(key, encoded)), decode(encoded)):
                raise AssertionError(
                    f"two answers for one digest ({found}): name in `case` what they differ in, "
                    "or write functions of one line in lines of their own"
                )
            return decode(encoded)
        key, version = self.find(found)
        recorded = decode(self.current.read[key])
        if self.is_drawn(key):
            if version != installed_version():
                self.of_others += 1
                return recorded
            self.computed += 1
            now = live(compute)
            assert agrees(recorded, now), (
                f"{_shown(self.current.path)} is wrong about {key}: "
                f"recorded {recorded!r}, real JAX says {now!r}"
            )
        return recorded

    def _recorded_now(
        self, found: str, compute: Callable[[], Any], last: str | None
    ) -> tuple[str, Any]:
        """(key, encoded answer) of what is recorded: an answer that there is, or one that is new."""
        assert self.current is not None
        version = installed_version()
        if version not in VERSIONS:
            raise RuntimeError(f"answers are recorded by JAX {VERSIONS[0]}, not by {version}")
        kept = VERSIONS
        if self.records_anew:
            kept = VERSIONS[: VERSIONS.index(version)] if last in (None, version) else (last,)
        for other in kept:
            key = key_of(found, other)
            if key in self.current.read:
                return key, self.current.read[key]
        if last not in (None, version):
            raise RuntimeError(f"this is to be recorded by JAX {last}, not by {version}")
        key = key_of(found, version)
        is_older = version != VERSIONS[0] and last is None and key not in self.current.read
        if is_older and not self.takes_older:
            raise RuntimeError(
                f"new questions are answered by JAX {VERSIONS[0]}, not by {version}: record this file "
                "on Python 3.12 or newer (`make oracle PYTHON=python3.13 VENV=.venv-3.13 ORACLE=...`). "
                f'Where it lacks what is asked about, say so by last="{version}"; where jitney follows '
                "the older version, add --older-answers"
            )
        self.new += 1
        return key, _computed(compute)


@functools.cache
def installed_version() -> str | None:
    """The version of real JAX in this environment; None if there is none."""
    try:
        return importlib.metadata.version("jax")
    except importlib.metadata.PackageNotFoundError:
        return None


def _records_of(module: Path) -> Path:
    return RECORDS / module.relative_to(TESTS).with_suffix(".json.xz")


def _shown(path: Path) -> str:
    return os.path.relpath(path, TESTS.parent)


def _computed(compute: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle.may_import = True
        try:
            result = compute()
        except Exception as error:
            raise_own(error)
            result = error
        finally:
            oracle.may_import = False
    return encode(result)


def raise_own(error: Exception) -> None:
    """Raises an error again if a function of `tests` has made it by a fault of its own.

    A name, a module or an assertion of the question that fails, or text that is no Python, would
    otherwise be taken for what a package answers, and could be the same with both packages.
    """
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None or not is_of_tests(place.tb_frame.f_code.co_filename):
        return
    # JAX leaves frames of its own out of tracebacks, but Python alone fills in these attributes.
    match error:
        case NameError(name=str()) | ImportError(name=str()) | SyntaxError(lineno=int()):
            raise error
        case AssertionError():
            raise error


oracle = Oracle()


def answer(
    compute: Callable[[], Any],
    *case: Any,
    last: str | None = None,
    agrees: Callable[[Any, Any], bool] = agree,
) -> Any:
    """Returns what real JAX makes of `compute()`, from the records or live.

    Args:
      compute: a function of no arguments that calls real JAX by `tests.helpers.oracle.jax`.
      case: what the answer depends on and `compute` reaches by ways that its digest does not see.
      last: the last version of JAX that has what is asked about; no other one is asked.
      agrees: (recorded, live) -> whether a live answer confirms the record.

    Returns: arrays as `Value`, an error as `Raised`, all else as it is.
    """
    return oracle.answer(compute, *case, last=last, agrees=agrees)


def of_jax(
    use: Callable[..., Any],
    *args: Any,
    x64: bool = False,
    agrees: Callable[[Any, Any], bool] = agree,
) -> Any:
    """Returns what `answer` does of `use(jax, *args)`, with 64-bit types if `x64`."""

    def compute() -> Any:
        with jax.enable_x64(x64):
            return use(jax, *args)

    return answer(compute, agrees=agrees)


def live(compute: Callable[[], Any]) -> Any:
    """Returns what `answer` does, always from real JAX, which has to be installed.

    For answers that other packages decide, too: texts, which versions of NumPy format differently.
    """
    return decode(_computed(compute))


def save(directory: Path) -> None:
    """Writes the answers of this process to `directory`, for `merge`, and which modules are partial."""
    own = directory / f"{os.getpid()}"
    own.mkdir(parents=True)
    partial = [path.relative_to(RECORDS).as_posix() for path in sorted(oracle.partial)]
    (own / PARTIAL).write_text(json.dumps(partial))
    for records in oracle.modules.values():
        if records.written:
            Records(own / records.path.relative_to(RECORDS)).write(records.written)


def merge(directory: Path, whole: bool) -> list[str]:
    """Joins what processes have saved to the records.

    Args:
      directory: where `save` put them.
      whole: whether the tests of these modules ran and passed: other entries are dropped, but for
        those of modules that a process has saved as partial.

    Returns: a line for each module.
    """
    parts: dict[Path, dict[str, Any]] = {}
    for file in sorted(directory.glob("*/**/*.json.xz")):
        name = file.relative_to(directory)
        parts.setdefault(RECORDS.joinpath(*name.parts[1:]), {}).update(Records(file).read)
    lines = []
    partial = {
        RECORDS / name
        for file in directory.glob(f"*/{PARTIAL}")
        for name in json.loads(file.read_text())
    }
    for path, entries in parts.items():
        records = Records(path)
        drops = whole and path not in partial
        kept = entries if drops else _without_older({**records.read, **entries}, entries)
        records.write(kept)
        lines.append(f"{_shown(path)}: {len(kept)} answers, {path.stat().st_size} bytes")
    return lines


def _without_older(kept: dict[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """`kept` without what older versions have answered to the questions of which `new` has answers."""
    for key in new:
        found, _, version = key.partition(" ")
        for older in VERSIONS[VERSIONS.index(version) + 1 :] if version else ():
            kept.pop(key_of(found, older), None)
    return kept


def _count() -> None:
    """Prints how many answers each version has given, and which modules have some of older ones."""
    counts: collections.Counter[str] = collections.Counter()
    for path in sorted(RECORDS.rglob("*.json.xz")):
        found = collections.Counter(key.partition(" ")[2] or "0.10.2" for key in Records(path).read)
        counts += found
        older = {v: n for v, n in found.items() if v != VERSIONS[0]}
        if older:
            print(_shown(path), *[f"{n} of {v}" for v, n in older.items()])
    print(*[f"{counts[v]} answers of {v}" for v in VERSIONS], sep="; ")


if __name__ == "__main__":
    _count()
