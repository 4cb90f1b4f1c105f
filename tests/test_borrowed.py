"""What the lint says of sentences that another package has, too: `tools/borrowed.py`."""

import pytest
from tools import borrowed

SEVEN = "each of the operands must be square"
THEIRS = f'def f(x):\n    """{SEVEN}."""\n'


@pytest.mark.parametrize(
    ("source", "is_shared"),
    [
        (f'x = "{SEVEN}"', True),
        (f'x = "Note: {SEVEN.upper()}, it is said"', True),
        ('x = ("each of the operands "\n     "must be square")', True),
        (f'raise ValueError(f"{{x}} and {SEVEN} but {{y}}")', True),
        ('x = f"each of the {n} operands must be square"', False),
        ('x = "each of the `n` operands must be square"', False),
        ('x = "each of the 2 operands must be square"', False),
        ('x = "of the operands must be square"', False),
        (f"# {SEVEN}\nx = 1", False),
        ('x = "square be must operands the of each"', False),
    ],
)
def test_rows_of_words(source, is_shared):
    theirs = {row for string in borrowed.strings(THEIRS) for row in borrowed.rows(string.text)}
    assert bool(list(borrowed.shared(source, theirs))) is is_shared


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
    found = list(borrowed.shared(f'\n\nx = "{SEVEN}"\n', set(borrowed.rows(SEVEN))))
    assert found == [(3, SEVEN)]


def test_allowed_sentences():
    assert len(borrowed.ALLOWED) <= 20
    for sentence, document in borrowed.ALLOWED.items():
        assert list(borrowed.rows(sentence)) and document


def test_a_folder_above_its_limit_fails(tmp_path, monkeypatch, capsys):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder, name in ((ours / "part", "a.py"), (theirs, "b.py")):
        folder.mkdir(parents=True)
        (folder / name).write_text(THEIRS)
    allowed = next(iter(borrowed.ALLOWED))
    for path in (ours / "part" / "c.py", theirs / "d.py"):
        path.write_text(f'"""{allowed}."""\n')
    (theirs / "e.py").write_bytes(b"\xff")  # no text
    monkeypatch.setattr(borrowed, "SOURCE", ours)
    assert borrowed.main(["--against", str(theirs)]) == 1
    assert "part                  1\n" in capsys.readouterr().out
    assert borrowed.main(["--against", str(theirs), "--list", "part"]) == 0
    assert capsys.readouterr().out == f"part/a.py:2: {SEVEN}\n"
    (ours / "part" / "a.py").unlink()
    assert borrowed.main(["--against", str(theirs)]) == 0


def test_without_jax(monkeypatch):
    monkeypatch.setattr(borrowed, "installed_jax", lambda: None)
    assert borrowed.main([]) == 0
