"""What `make docs` builds the site from, checked without Sphinx.

Pages are in the contents and directives are well formed, every public name has a page, links on all
pages lead somewhere, and inventories of other sites are read where they can be reached.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TypedDict

import pytest
from tests.test_docs import FENCE, LINK, ROOT, anchors

sys.path.append(str(ROOT / "docs" / "extensions"))

import inventories

DOCS = ROOT / "docs"
# Pages of the site; the others are of the repository alone.
PAGES = sorted({*DOCS.glob("*.md"), *DOCS.glob("tutorials/*.md")} - {DOCS / "README.md"})
DIRECTIVE = re.compile(r"^(`{3,}|:{3,})\{([\w-]+)\}[^\n]*\n(.*?)^\1$", re.M | re.S)
DIRECTIVES = {"code-cell", "glossary", "grid", "grid-item-card", "toctree"}
OPTION = re.compile(r":[\w-]+:(?: |$)")
# Public modules whose names have pages with another module: its package, or that of the primitives.
ELSEWHERE = {
    "jax.experimental.colocated_python.serialization",
    "jax.experimental.source_mapper.common",
    "jax.experimental.source_mapper.generate_map",
    "jax.experimental.source_mapper.hlo",
    "jax.experimental.source_mapper.jaxpr",
    "jax.experimental.sparse.ad",
    "jax.experimental.sparse.api",
    "jax.experimental.sparse.bcoo",
    "jax.experimental.sparse.bcsr",
    "jax.experimental.sparse.coo",
    "jax.experimental.sparse.csr",
    "jax.experimental.sparse.random",
    "jax.experimental.sparse.transform",
    "jax.experimental.sparse.util",
    "jax.extend.core.primitives",
    "jax.version",
}


def _name(path: Path) -> str:
    return str(path.relative_to(DOCS))


def _contents(page: Path) -> list[Path]:
    """The pages in the tables of contents of a page; those of the API are made by the build."""
    tables = [found[3] for found in DIRECTIVE.finditer(page.read_text()) if found[2] == "toctree"]
    entries = [line for table in tables for line in table.splitlines() if line[:1] not in ("", ":")]
    return [(page.parent / f"{entry}.md").resolve() for entry in entries if entry != "api/index"]


def test_every_page_is_in_one_table_of_contents() -> None:
    listed = [to for page in PAGES for to in _contents(page)]
    assert sorted(listed) == sorted(set(PAGES) - {DOCS / "index.md"})


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_directives_are_well_formed(page: Path) -> None:
    """Each option is on a line of its own: joined to one line they would be text."""
    text = page.read_text()
    for fence in re.findall(r"^(?:`{3,}|:{3,})\{([\w-]+)\}", text, re.M):
        assert fence in DIRECTIVES, fence
    for found in DIRECTIVE.finditer(text):
        options = [x for x in found[3].splitlines() if OPTION.match(x)]
        assert all(len(re.findall(r"(?:^| ):[\w-]+: ", f"{x} ")) == 1 for x in options), options
    for fence in ("```", ":::", "::::"):
        assert len(re.findall(rf"^{fence}(?!{fence[0]})", text, re.M)) % 2 == 0, fence


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for found in LINK.finditer(FENCE.sub("", page.read_text())):
        target, _, anchor = (found[1] or found[2]).partition("#")
        if target.startswith(("http://", "https://")):
            continue
        to = page if not target else (page.parent / target).resolve()
        assert to.exists(), target
        assert not anchor or anchor in anchors(to.read_text()), f"{target}#{anchor}"


LISTS = ["README", "howto", "explanation", "reference", "development", "tutorials/index"]


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_pages_name_them_by_their_titles(name: str) -> None:
    page = DOCS / f"{name}.md"
    for label, target in re.findall(r"\[([^\]]+)\]\(([\w/]+\.md)\)", page.read_text()):
        found = re.search(r"^# (.+)$", (page.parent / target).read_text(), re.M)
        assert found is not None, target
        assert " ".join(label.split()).lower() == found[1].lower(), target


def test_cards_of_the_home_page_link_to_pages() -> None:
    links = re.findall(r"^:link: (.*)$", (DOCS / "index.md").read_text(), re.M)
    assert len(links) == 6
    assert all(x == "api/index" or (DOCS / f"{x}.md").exists() for x in links)


# --- the API ------------------------------------------------------------------------------------------


# In a process of its own: it imports jitney as `jax`.
API = """
import importlib, json, sys, types
import api_pages
import jitney

jitney.install_as_jax()

def submodules(name):
    module = importlib.import_module(name)
    for part in dir(module):
        value = None if part.startswith("_") else getattr(module, part)
        full = f"{name}.{part}"
        own = full, full.replace("jax", "jitney", 1)
        if isinstance(value, types.ModuleType) and value.__name__ in own:
            yield full

public, left = set(), ["jax"]  # modules that are reached by names that `dir` shows
while left:
    name = left.pop()
    public.add(name)
    left += [sub for sub in submodules(name) if sub not in public]
sort = {"numpy": {"numpy.sort": "https://numpy.org/sort"}}
json.dump({
    "pages": dict(api_pages.pages()),
    "with_sites": api_pages.page_of("jax.numpy.sort", jitney.numpy.sort, sort),
    "names": {x: api_pages.public_names(x) for x in api_pages.MODULES},
    "without": [x for x in public - set(api_pages.MODULES) if api_pages.public_names(x)],
    "sources": {x: api_pages.source_module(*x.rsplit(".", 1)) for x in json.load(sys.stdin)},
    "links": [
        api_pages.counterparts_of(x, sort)
        for x in ("jax.numpy.sort", "jax.numpy.top_k", "jax.lax.sort")
    ],
}, sys.stdout)
"""
SOURCES = {
    "jax.numpy.cross": "jitney.numpy.products",
    "jax.jit": "jitney.api.jit.jit",
    "jax.lax.scan": "jitney.primitives.control.scan",
    "jax.numpy.get_printoptions": None,  # NumPy's
    "jax.no_such_name": None,
}


class Api(TypedDict):
    """What `api_pages` makes."""

    pages: dict[str, str]
    with_sites: str
    names: dict[str, list[str]]
    without: list[str]
    sources: dict[str, str | None]
    links: list[str]


@pytest.fixture(scope="module")
def api() -> Api:
    paths = [str(DOCS / "extensions"), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-c", API], input=json.dumps([*SOURCES]), capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_public_module_has_a_page(api: Api) -> None:
    assert set(api["without"]) == ELSEWHERE


def test_every_public_name_has_a_page_that_says_something(api: Api) -> None:
    names = [(f"{module}.{x}", x) for module, of in api["names"].items() for x in of]
    assert len(names) > 1900
    for name, last in names:
        text = api["pages"][name]
        found = re.search(rf"^\.\. py:(?:function|class|data):: {re.escape(last)}\b", text, re.M)
        assert found is not None, name
        # A sentence or a value after the signature.
        assert re.search(r"^   \S", text[found.end() :], re.M), name


def test_pages_of_the_api_link_to_pages(api: Api) -> None:
    for text in api["pages"].values():
        for target in re.findall(r":doc:`(?:[^`<]* <)?([\w.]+)>?`", text):
            assert target in api["pages"]


def test_sources_of_public_names(api: Api) -> None:
    assert api["sources"] == SOURCES


def test_names_link_to_their_counterparts(api: Api) -> None:
    link = "See also: `numpy.sort (numpy) <https://numpy.org/sort>`__"
    assert api["links"] == [link, "", ""]
    assert f"\n{link}\n" in api["with_sites"]
    assert "See also" not in api["pages"]["jax.numpy.sort"]


# --- other sites --------------------------------------------------------------------------------------

LINES = b"""numpy.sort py:function 1 reference/generated/numpy.sort.html#$ -
numpy.linalg py:module 0 reference/routines.linalg.html#module-$ numpy.linalg
absolute std:label -1 user/basics.html Absolute
numpy.fft.fft py:function 1 reference/routines.fft.html#$ -
"""


def _inventory(folder: Path, lines: bytes = LINES) -> str:
    """Writes an inventory to `folder`; returns the address of the site."""
    folder.mkdir()
    header = inventories.MAGIC + b"# Project: numpy\n# Version: 2\n# compressed with zlib.\n"
    (folder / "objects.inv").write_bytes(header + zlib.compress(lines))
    return f"{folder.as_uri()}/"


def test_inventories_are_fetched_once(tmp_path: Path) -> None:
    site = _inventory(tmp_path / "site")
    kept = tmp_path / "kept"
    expected = {"numpy": (site, str(kept / "numpy.inv"))}
    assert inventories.reachable(kept, {"numpy": site}) == expected
    (tmp_path / "site" / "objects.inv").unlink()
    assert inventories.reachable(kept, {"numpy": site}) == expected


def test_sites_without_an_inventory_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "login").mkdir()
    (tmp_path / "login" / "objects.inv").write_text("<html>Sign in</html>")
    sites = {
        "absent": f"{tmp_path.as_uri()}/absent/",
        "login": f"{tmp_path.as_uri()}/login/",
        "wrong": "no address ",
    }
    assert inventories.reachable(tmp_path / "kept", sites) == {}
    assert not (tmp_path / "kept").exists()


def test_addresses_of_names(tmp_path: Path) -> None:
    _inventory(tmp_path / "site")
    assert inventories.addresses("https://x.org/", tmp_path / "site" / "objects.inv") == {
        "numpy.sort": "https://x.org/reference/generated/numpy.sort.html#numpy.sort",
        "numpy.linalg": "https://x.org/reference/routines.linalg.html#module-numpy.linalg",
        "numpy.fft.fft": "https://x.org/reference/routines.fft.html#numpy.fft.fft",
    }
