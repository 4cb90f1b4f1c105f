"""What the lint says of sentences that another package has, too: `tools/borrowed.py`."""

import ast

import pytest
from tools import borrowed

SEVEN = "each of the operands must be square"
THEIRS = f'def f(x):\n    """{SEVEN}."""\n'


def phrases(source):
    """The phrases of a source text of the other package."""
    return borrowed.Phrases.of(string.text for string in borrowed.strings(ast.parse(source)))


@pytest.mark.parametrize(
    ("source", "is_shared"),
    [
        (f'x = "{SEVEN}"', True),
        (f'x = "Note: {SEVEN.upper()}, it is said"', True),
        ('x = ("each of the operands "\n     "must be square")', True),
        (f'raise ValueError(f"{{x}} and {SEVEN} but {{y}}")', True),
        ('x = f"each of the {n} operands must be square"', True),
        ('x = "each of the %d operands" % n + " must be square"', True),
        ('x = "each of the ({}) operands must {verb!r} be square".format(n, verb="")', True),
        ('x = f"each of the {n + 1:d}, {f(n)}. Operands must be square"', True),
        ('x = "each of the `n` operands must be square"', False),
        ('x = "each of the 2 operands must be square"', False),
        ('x = "of the operands must be square"', False),
        (f"# {SEVEN}\nx = 1", False),
        ('x = "square be must operands the of each"', False),
    ],
)
def test_rows_of_words(source, is_shared):
    theirs = phrases(THEIRS)
    assert bool(list(borrowed.shared(source, theirs))) is is_shared


@pytest.mark.parametrize(
    ("theirs", "ours", "is_shared"),
    [
        # the whole message, or a sentence of it
        ('"empty branch sequence"', '"Empty branch sequence"', True),
        ('"empty branch sequence"', '"lax.switch: empty branch sequence."', True),
        ('"empty branch sequence"', 'f"{op}: empty branch sequence; there is none"', True),
        (
            '"empty branch sequence. Give one"',
            '"The sequence is short. Empty branch sequence!"',
            True,
        ),
        ('"empty branch sequence"', '"an empty branch sequence"', False),
        ('"empty sequence"', '"empty sequence"', False),
        # values
        ('f"unknown mode {m} of {n}"', '"unknown mode {} of {!r}".format(m, n)', True),
        ('f"unknown mode {m} of {n}"', '"unknown mode %r" % m + f" of {n}"', True),
        ('f"unknown mode {m} of {n}"', '"unknown mode of"', True),
        ('f"unknown mode {m} of {n}"', 'f"a mode {m} of {n} is not known"', False),
        # one other word
        ('f"{op} must have axes of two"', '"sort must have axes of two"', True),
        ('"sort must have axes of two"', 'f"`{op}` must have axes of two"', True),
        ('"sort must have axes of two"', '"scan must have axes of two"', True),
        ('f"{op} must have two axes"', '"sort must have two axes"', False),
        ('"sort must have axes of two"', '"lax sort must have pairs of axes"', False),
        # code and numbers
        ('"`x` must be 1"', '"x must be `1`"', True),
        ('"x must be 1"', '"x must be 2"', False),
    ],
)
def test_messages(theirs, ours, is_shared):
    given = phrases(f"message = {theirs}")
    for template in (
        "raise ValueError({})",
        "raise error({}) from None",
        "error = ValueError({}, 1)",
        "warnings.warn({}, stacklevel=2)",
        "warn(errors.JaxWarning({}))",
    ):
        assert bool(list(borrowed.shared(template.format(ours), given))) is is_shared
    assert not list(borrowed.shared(f"x = f({ours})", given))


def test_names_are_one_word():
    text = "jax.lax.with_sharding_constraint, axis names/sizes of non-empty meshes: x[0], 3, it's"
    assert borrowed.words(text) == [
        "jax.lax.with_sharding_constraint", "axis", "names", "sizes", "of", "non", "empty",
        "meshes", "", "", "it's",
    ]  # fmt: skip
    assert not list(borrowed.rows("jax_remove_size_one_mesh_axis_from_type"))


def test_long_lines_of_examples():
    line = "jax.vmap(lambda x, y: x @ y)(matrices, vectors)"
    assert list(borrowed.rows(f"Say:\n    >>> {line}\n    >>> x = 1\n")) == [(line,)]
    assert list(borrowed.rows(f"Say:\n    ... {line}  \n")) == [(line,)]


def test_the_line_is_that_of_the_string():
    found = list(borrowed.shared(f'\n\nx = "{SEVEN}"\n', borrowed.Phrases.of([SEVEN])))
    assert found == [(3, SEVEN)]


def test_allowed_sentences():
    assert len(borrowed.ALLOWED) <= 20
    for sentence, document in borrowed.ALLOWED.items():
        assert borrowed.sentences(sentence) and document


def test_a_folder_above_its_limit_fails(tmp_path, monkeypatch, capsys):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder, name in ((ours / "part", "a.py"), (theirs, "b.py")):
        folder.mkdir(parents=True)
        (folder / name).write_text(THEIRS)
    (ours / "part" / "stubs.pyi").write_text(THEIRS)
    (tmp_path / "plugin.py").write_text('raise ValueError("of the operands")')
    (theirs / "c.py").write_text('x = "of the operands"')
    allowed = next(iter(borrowed.ALLOWED))
    for path in (ours / "part" / "c.py", theirs / "d.py"):
        path.write_text(f'"""{allowed}."""\nraise ValueError("{allowed}")\n')
    (theirs / "e.py").write_bytes(b"\xff")  # no text
    monkeypatch.setattr(borrowed, "SOURCE", ours)
    assert borrowed.main(["--against", str(theirs)]) == 1
    assert capsys.readouterr().out.startswith("(modules)             1\npart                  2\n")
    assert borrowed.main(["--against", str(theirs), "--list", "part"]) == 0
    assert capsys.readouterr().out == "".join(
        f"ours/part/{name}:2: {SEVEN}\n" for name in ("a.py", "stubs.pyi")
    )
    for path in (ours / "part" / "a.py", ours / "part" / "stubs.pyi", tmp_path / "plugin.py"):
        path.unlink()
    assert borrowed.main(["--against", str(theirs)]) == 0


def test_without_jax(monkeypatch):
    monkeypatch.setattr(borrowed, "installed_jax", lambda: None)
    assert borrowed.main([]) == 0
