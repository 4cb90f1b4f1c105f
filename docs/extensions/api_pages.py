"""Pages of the API: one for each public name, made from its signature and docstring.

`make docs` writes them to docs/api: a page for each module, with a table of its names, and a page for
each name. They show names as programs write them, `jax.numpy.sort`. What is public is found by lists
that modules keep (`__all__`, or `dir`). Many functions are objects of classes of their own, which
`sphinx.ext.autodoc` would take for data.

Pages of names are in no table of contents: Sphinx would render all 1,600 of its entries on each page.
"""

from __future__ import annotations

import importlib
import inspect
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inventories

# Modules, in the order of the contents, with what they are for.
MODULES = {
    "jax": "transformations, arrays, devices, configuration",
    "jax.numpy": "NumPy's functions",
    "jax.numpy.linalg": "linear algebra",
    "jax.numpy.fft": "Fourier transforms",
    "jax.lax": "operations, loops and branches, collectives",
    "jax.lax.linalg": "matrix factorizations",
    "jax.random": "random numbers",
    "jax.nn": "activations, attention and other functions of networks",
    "jax.nn.initializers": "initializers of weights",
    "jax.scipy.cluster.vq": "vector quantization",
    "jax.scipy.fft": "cosine transforms",
    "jax.scipy.integrate": "integrals of samples",
    "jax.scipy.interpolate": "interpolation on grids",
    "jax.scipy.linalg": "linear algebra",
    "jax.scipy.ndimage": "interpolation of images",
    "jax.scipy.optimize": "minimization",
    "jax.scipy.signal": "convolutions and spectra",
    "jax.scipy.sparse.linalg": "iterative solvers",
    "jax.scipy.spatial.transform": "rotations",
    "jax.scipy.special": "special functions",
    "jax.scipy.stats": "statistics and density estimation",
    "jax.scipy.stats.bernoulli": "Bernoulli distribution",
    "jax.scipy.stats.beta": "beta distribution",
    "jax.scipy.stats.betabinom": "beta-binomial distribution",
    "jax.scipy.stats.binom": "binomial distribution",
    "jax.scipy.stats.cauchy": "Cauchy distribution",
    "jax.scipy.stats.chi2": "chi-squared distribution",
    "jax.scipy.stats.dirichlet": "Dirichlet distribution",
    "jax.scipy.stats.expon": "exponential distribution",
    "jax.scipy.stats.gamma": "gamma distribution",
    "jax.scipy.stats.gennorm": "generalized normal distribution",
    "jax.scipy.stats.geom": "geometric distribution",
    "jax.scipy.stats.gumbel_l": "left-skewed Gumbel distribution",
    "jax.scipy.stats.gumbel_r": "right-skewed Gumbel distribution",
    "jax.scipy.stats.laplace": "Laplace distribution",
    "jax.scipy.stats.logistic": "logistic distribution",
    "jax.scipy.stats.multinomial": "multinomial distribution",
    "jax.scipy.stats.multivariate_normal": "multivariate normal distribution",
    "jax.scipy.stats.nbinom": "negative binomial distribution",
    "jax.scipy.stats.norm": "normal distribution",
    "jax.scipy.stats.pareto": "Pareto distribution",
    "jax.scipy.stats.poisson": "Poisson distribution",
    "jax.scipy.stats.t": "Student's t distribution",
    "jax.scipy.stats.truncnorm": "truncated normal distribution",
    "jax.scipy.stats.uniform": "uniform distribution",
    "jax.scipy.stats.vonmises": "von Mises distribution",
    "jax.scipy.stats.wrapcauchy": "wrapped Cauchy distribution",
    "jax.tree": "pytrees",
    "jax.tree_util": "pytrees: registration of classes, paths",
    "jax.ad": "references to gradients",
    "jax.ad_checkpoint": "rematerialization",
    "jax.api_util": "arguments of transformations",
    "jax.custom_derivatives": "custom derivative rules",
    "jax.custom_batching": "custom batching rules",
    "jax.debug": "printing, callbacks and breakpoints",
    "jax.distributed": "several processes",
    "jax.dlpack": "exchange of arrays with other packages",
    "jax.dtypes": "dtypes",
    "jax.errors": "errors",
    "jax.export": "symbolic shapes",
    "jax.flatten_util": "pytrees as vectors",
    "jax.image": "resizing of images",
    "jax.memory": "memory spaces",
    "jax.monitoring": "events and durations",
    "jax.ops": "reductions of segments",
    "jax.profiler": "profiles of execution",
    "jax.ref": "mutable arrays",
    "jax.sharding": "meshes and shardings",
    "jax.stages": "traced, lowered and compiled functions",
    "jax.test_util": "checks of derivatives",
    "jax.typing": "types for annotations",
    "jax.experimental": "callbacks and array types",
    "jax.experimental.checkify": "run-time checks in compiled functions",
    "jax.experimental.colocated_python": "Python functions on hosts of devices",
    "jax.experimental.compilation_cache.compilation_cache": "the disk cache",
    "jax.experimental.compute_on": "choice of where to compute",
    "jax.experimental.custom_partitioning": "custom partitioning rules",
    "jax.experimental.fused": "functions as one kernel",
    "jax.experimental.hijax": "custom types and primitives",
    "jax.experimental.jet": "Taylor series",
    "jax.experimental.layout": "layouts of arrays",
    "jax.experimental.mesh_utils": "arrangements of devices in meshes",
    "jax.experimental.multihost_utils": "arrays over several processes",
    "jax.experimental.ode": "an ODE solver",
    "jax.experimental.overlap": "the order of operations",
    "jax.experimental.pjit": "jit of sharded programs",
    "jax.experimental.profiler": "profiles as hints for compilations",
    "jax.experimental.random": "stateful random numbers",
    "jax.experimental.rnn": "LSTM networks",
    "jax.experimental.roofline": "estimates of operations and bytes",
    "jax.experimental.scheduling_groups": "groups of operations",
    "jax.experimental.serialize_executable": "compiled functions as bytes",
    "jax.experimental.shard_alike": "equal shardings of two values",
    "jax.experimental.shard_map": "the former place of jax.shard_map",
    "jax.experimental.source_mapper": "source maps",
    "jax.experimental.sparse": "sparse arrays",
    "jax.experimental.sparse.linalg": "sparse linear solvers",
    "jax.experimental.topologies": "descriptions of devices",
    "jax.experimental.xla_metadata": "metadata of operations",
    "jax.example_libraries.optimizers": "optimizers",
    "jax.example_libraries.stax": "networks",
    "jax.extend.backend": "backends",
    "jax.extend.core": "jaxprs and primitives",
    "jax.extend.ifrt_programs": "IFRT programs",
    "jax.extend.linear_util": "transformations of functions",
    "jax.extend.lowering": "the context of lowering rules",
    "jax.extend.random": "custom random number generators",
    "jax.extend.sharding": "constructors of shardings",
    "jax.extend.source_info_util": "source locations",
    "jax.interpreters.ad": "rules of derivatives",
    "jax.interpreters.batching": "rules of batching",
    "jax.interpreters.mlir": "rules of lowering",
    "jax.interpreters.partial_eval": "partial evaluation",
    "jax.interpreters.pxla": "meshes of programs",
    "jax.interpreters.xla": "types of arrays",
}
PACKAGE = Path(__file__).resolve().parents[2] / "src" / "jitney"
SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Example|Examples|[A-Z]\w+):\s*(.*)$")
ITEM = re.compile(r"^  (\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*): (.*)$")
FIELDS = {"Args": "param", "Attributes": "param"}


def module(name: str) -> types.ModuleType:
    """The module that programs import as `name`."""
    return importlib.import_module(name.replace("jax", "jitney", 1))


def public_names(name: str) -> list[str]:
    """The public names of a module that are not modules."""
    found = module(name)
    names = [x for x in getattr(found, "__all__", dir(found)) if not x.startswith("_")]
    return sorted(x for x in names if not isinstance(getattr(found, x), types.ModuleType))


# --- docstrings as reStructuredText -------------------------------------------------------------------


def text_of(line: str) -> str:
    """A line of a docstring, whose only markup is `code`, as reStructuredText."""
    parts = re.split(r"(``[^`]+``|`[^`]+`)", line)
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = f"``{part.strip('`').strip()}``"
        else:
            parts[i] = re.sub(r"([*_|\\`])", r"\\\1", part)
            if i > 0 and (parts[i][:1].isalnum() or parts[i][:1] in ("(", "\\")):
                parts[i] = "\\ " + parts[i]  # literals have to stand apart from what follows
            if i + 1 < len(parts) and parts[i][-1:].isalnum():
                parts[i] += "\\ "
    return "".join(parts)


def sections_of(docstring: str) -> Iterator[tuple[str, list[str]]]:
    """The sections of a docstring with their lines; the first has no name."""
    name, lines = "", list[str]()
    for line in docstring.splitlines():
        found = SECTION.match(line)
        if found is None:
            lines.append(line)
            continue
        yield name, lines
        name, lines = found[1], [f"  {found[2]}"] if found[2] else []
    yield name, lines


def rst_of(docstring: str) -> list[str]:
    """A docstring as lines of reStructuredText."""
    found: list[str] = []
    for name, lines in sections_of(inspect.cleandoc(docstring)):
        body = inspect.cleandoc("\n" + "\n".join(lines)).splitlines()
        if not name:
            found += [*_paragraphs(body), ""]
        elif name in ("Example", "Examples"):
            found += [".. rubric:: Example", "", ".. code-block:: pycon", ""]
            found += [*[f"   {line}" for line in body], ""]
        elif name in FIELDS:
            found += [*_fields(FIELDS[name], lines), ""]
        elif name == "Raises":
            found += [*_errors(lines), ""]
        elif name == "Returns":
            head, *rest = [text_of(line) for line in body] or [""]
            found += [f":returns: {head}", *[f"   {line}" for line in rest], ""]
        else:
            found += [f"**{name}.** {text_of(' '.join(body))}", ""]
    return found


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Text, in which what is indented after a blank line, or begins with >>>, is code."""
    is_code = False
    before = ""
    for line in lines:
        starts = (line.startswith(("    ", ">>>")) and not before.strip()) and bool(line.strip())
        if starts and not is_code:
            yield from (".. code-block:: pycon", "")
            is_code = True
        elif is_code and line.strip() and not line.startswith(" ") and not before.strip():
            is_code = line.startswith(">>>")
        yield f"   {line}" if is_code else text_of(line)
        before = line


def _fields(kind: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        item = ITEM.match(line)
        if item is not None:
            # "a, b" would be taken for a type and a name.
            for name in item[1].replace("*", r"\*").split(", "):
                yield f":{kind} {name}: {text_of(item[2])}"
        elif line.strip():
            yield f"   {text_of(line.strip())}"


def _errors(lines: list[str]) -> Iterator[str]:
    """What is raised, without references: names of errors are ambiguous."""
    for line in lines:
        item = ITEM.match(line)
        if item is not None:
            yield from ("", f"**{item[1]}** {text_of(item[2])}")
        elif line.strip():
            yield text_of(line.strip())


# --- pages --------------------------------------------------------------------------------------------


def signature_of(x: Any) -> str:
    """The signature as it is shown, annotations left out; "(...)" where there is none."""
    try:
        found = inspect.signature(x)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    plain = found.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    return re.sub(r" at 0x[0-9a-f]+", "", str(plain))


def docstring_of(x: Any) -> str:
    """The docstring of an object itself; "" if it only has that of its class."""
    text = inspect.getdoc(x) or ""
    is_own = inspect.isclass(x) or "__doc__" in getattr(x, "__dict__", ())
    return text if is_own or text != (inspect.getdoc(type(x)) or "") else ""


def summary_of(x: Any) -> str:
    """The first line of a docstring."""
    return docstring_of(x).partition("\n")[0]


def counterparts_of(name: str, sites: dict[str, dict[str, str]]) -> str:
    """Links to the same name on other sites, as a line of reStructuredText; "" if there are none.

    Args:
      name: a public name, such as jax.numpy.sort.
      sites: addresses of the names of each site, as `inventories.addresses` returns them.
    """
    names = {"jax": name}
    if name.startswith("jax.numpy."):
        names["numpy"] = name.replace("jax.", "", 1)
    elif name.startswith("jax.scipy."):
        names["scipy"] = name.replace("jax.", "", 1)
    links = [
        f"`{other} ({site}) <{sites[site][other]}>`__"
        for site, other in names.items()
        if other in sites.get(site, {})
    ]
    return f"See also: {', '.join(links)}" if links else ""


def source_module(name: str, attribute: str) -> str | None:
    """The module with the source of `attribute` of module `name`; None if that is unknown.

    Functions of `jax.numpy` and the like have its name in `__module__`, not that of their file.
    """
    try:
        file = inspect.getsourcefile(inspect.unwrap(getattr(module(name), attribute)))
    except (AttributeError, ImportError, TypeError, ValueError):
        return None
    if file is None or not Path(file).is_relative_to(PACKAGE):
        return None
    parts = Path(file).relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def page_of(name: str, x: Any, sites: dict[str, dict[str, str]] | None = None) -> str:
    """The page of a public name."""
    where, _, last = name.rpartition(".")
    lines = [":orphan:", "", name, "=" * len(name), "", f":doc:`{where} <{where}>`", ""]
    lines += [f".. py:currentmodule:: {where}", ""]
    origin = getattr(x, "__module__", None) or "jax"
    if origin.partition(".")[0] in ("jax", "jitney"):
        docstring = rst_of(docstring_of(x))
    else:
        docstring = [f"``{getattr(x, '__qualname__', last)}`` of {origin}."]
    if inspect.isclass(x) and origin != "builtins":
        lines += [f".. py:class:: {last}{signature_of(x)}", ""]
        lines += [f"   {line}" for line in docstring]
        for member, value in _members(x):
            kind = "property" if isinstance(value, property) else "method"
            signature = "" if kind == "property" else _without_self(signature_of(value))
            lines += ["", f"   .. py:{kind}:: {member}{signature}", ""]
            lines += [f"      {line}" for line in rst_of(inspect.getdoc(value) or "")]
    elif callable(x) and type(x).__module__ not in ("types", "typing"):  # aliases of types
        lines += [f".. py:function:: {last}{signature_of(x)}", ""]
        lines += [f"   {line}" for line in docstring]
    else:
        lines += [f".. py:data:: {last}", ""]
        if docstring_of(x):
            lines += [f"   {line}" for line in docstring]
        else:
            lines += [f"   {text_of(repr(x).splitlines()[0][:100])}"]
    lines += ["", counterparts_of(name, sites or {})]
    return "\n".join(lines) + "\n"


def _without_self(signature: str) -> str:
    return re.sub(r"^\(self(?:, )?", "(", signature)


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    for name in sorted(dir(cls)):
        if name.startswith("_"):
            continue
        try:
            value = inspect.getattr_static(cls, name)
        except AttributeError:
            continue
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        owner = next((base for base in cls.__mro__ if name in vars(base)), cls)
        if owner.__module__ == "builtins" or not (callable(value) or isinstance(value, property)):
            continue
        if inspect.getdoc(value):
            yield name, value


def module_page(name: str) -> str:
    """The page of a module: its names, with the first sentences of their docstrings."""
    title = f"{name}: {MODULES[name]}"
    lines = [title, "=" * len(title), "", f".. py:module:: {name}", ""]
    names = public_names(name)
    lines += [".. list-table::", "   :widths: 30 70", ""]
    for x in names:
        lines += [f"   * - :doc:`{x} <{name}.{x}>`"]
        lines += [f"     - {text_of(summary_of(getattr(module(name), x)))}"]
    return "\n".join(lines) + "\n"


def pages(sites: dict[str, dict[str, str]] | None = None) -> Iterator[tuple[str, str]]:
    """All pages: (name of the file without its ending, text)."""
    import jitney

    jitney.install_as_jax()  # names print as programs write them
    for name in MODULES:
        yield name, module_page(name)
        for x in public_names(name):
            yield f"{name}.{x}", page_of(f"{name}.{x}", getattr(module(name), x), sites)
    lines = ["Public names", "============", "", ".. list-table::", "   :widths: 30 70", ""]
    for name, what in MODULES.items():
        lines += [f"   * - :doc:`{name}`", f"     - {what}"]
    lines += ["", ".. toctree::", "   :hidden:", "", *[f"   {name}" for name in MODULES]]
    yield "index", "\n".join(lines) + "\n"


def write(folder: Path, sites: dict[str, dict[str, str]] | None = None) -> None:
    """Writes the pages that have changed to `folder`, and deletes those of names that are gone."""
    folder.mkdir(exist_ok=True)
    written = set[str]()
    for name, text in pages(sites):
        file = folder / f"{name}.rst"
        written.add(file.name)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
    for file in folder.glob("*.rst"):
        if file.name not in written:
            file.unlink()


def _write_pages(app: Any) -> None:
    mapping = inventories.reachable(Path(app.srcdir) / "_build" / "inventories")
    sites = {name: inventories.addresses(site, Path(x)) for name, (site, x) in mapping.items()}
    write(Path(app.srcdir) / "api", sites)


def setup(app: Any) -> dict[str, bool]:
    """Makes the pages before Sphinx reads the documents, and tells viewcode where sources are."""
    app.connect("builder-inited", _write_pages)
    app.connect("viewcode-follow-imported", lambda app, name, x: source_module(name, x))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
