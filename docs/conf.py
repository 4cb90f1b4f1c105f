"""How Sphinx makes the site of these documents: `make docs`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent / "src")]

import inventories  # noqa: E402

# Tutorials run in processes of their own.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")]
)

project = "jitney"
copyright = "the authors of jitney"  # noqa: A001  # Sphinx's name
extensions = [
    "myst_nb",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "api_pages",
    "repository_folders",
]
exclude_patterns = ["_build", "extensions", "README.md"]
# Documents link to files of the repository, which are not pages of the site.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]
html_theme = "pydata_sphinx_theme"
html_title = "jitney"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "show_nav_level": 1,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "collapse_navigation": True,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_show_sourcelink = False
highlight_language = "python"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 120
# Sites that cannot be reached are left out: a build without network makes no links to them.
intersphinx_mapping = inventories.reachable(HERE / "_build" / "inventories")
