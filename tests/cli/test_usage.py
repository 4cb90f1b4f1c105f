"""Options of commands, around the program that a command runs."""

import os
import re
from pathlib import Path

import pytest

from jitney.cli import command, usage

USAGE = """\
usage: jitney paint program.py [option ...] [--] [argument ...]

  --function NAME   of this name alone
  -o FILE           where to
  --open            shows it
"""


@pytest.mark.parametrize(
    ("words", "options", "program"),
    [
        ("p.py", {}, "p.py"),
        ("--open -o x.html p.py a --open", {"open": "", "o": "x.html"}, "p.py a --open"),
        ("p.py --open -o x.html a", {"open": "", "o": "x.html"}, "p.py a"),
        ("--function f p.py --open", {"function": "f", "open": ""}, "p.py"),
        ("p.py --function=f -- --open b", {"function": "f"}, "p.py --open b"),
        ("p.py --own --open", {}, "p.py --own --open"),
        ("p.py -- -- a", {}, "p.py -- a"),
        ("--open -m mod --function f a -o", {"open": "", "function": "f"}, "-m mod a -o"),
        ("-c code -o x.html -- --open", {"o": "x.html"}, "-c code --open"),
        ("- --open -", {"open": ""}, "- -"),
        ("--open", {"open": ""}, ""),
        ("", {}, ""),
    ],
)
def test_options_stand_before_the_program_or_at_once_after_it(words, options, program):
    assert usage.around_program(USAGE, words.split()) == (options, program.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--opne p.py", "unknown option --opne; did you mean --open?"),
        ("-o", "-o needs a value"),
        ("p.py --function", "--function needs a value"),
        ("--open=1 p.py", "--open takes no value"),
        ("-- p.py", "unknown option --"),
        ("-m", "-m needs a value"),
        ("-n p.py", "unknown option -n"),
    ],
)
def test_wrong_options(words, message):
    with pytest.raises(ValueError) as caught:
        usage.around_program(USAGE, words.split())
    assert str(caught.value) == message


def test_refusals_show_the_first_line_of_the_usage(capsys):
    assert usage.refuse(USAGE, ValueError("-o needs a value")) == 2
    assert capsys.readouterr().err == (
        "usage: jitney paint program.py [option ...] [--] [argument ...]\n"
        "jitney paint: -o needs a value (jitney paint --help)\n"
    )


def test_folders_of_files(tmp_path):
    words = ["p.py", "-o", str(tmp_path / "x.html")]
    assert usage.around_program(USAGE, words, {"o": usage.PAGES})[1] == ["p.py"]
    for path, wrong in (
        ("none/x", "-o none/x: folder none does not exist"),
        (str(tmp_path), "this is a folder; pass the name of a file"),
        (str(tmp_path / "data.csv"), "this file exists, and its name does not end in"),
    ):
        (tmp_path / "data.csv").write_text("1, 2")
        with pytest.raises(ValueError, match=wrong):
            usage.around_program(USAGE, ["p.py", "-o", path], {"o": usage.PAGES})


def test_paths_of_files_are_absolute():
    """The program may change the working directory."""
    options, _ = usage.around_program(USAGE, ["p.py", "-o", "x.html"], {"o": usage.PAGES})
    assert options == {"o": os.path.abspath("x.html")}


PAGE = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text()
_SECTIONS = {s.partition("\n")[0]: s for s in re.split(r"^## ", PAGE, flags=re.M)[1:]}


@pytest.mark.parametrize("name", command.COMMANDS)
def test_the_page_has_each_command_with_its_options(name):
    """And no options that the command does not have."""
    said = re.findall(r"(?<![\w-])--?[a-z][\w-]*", command.module_of(name).USAGE)
    options = set(said) - {"-m", "-c", "-n"}  # those of every program, and mpiexec's
    shown = set(re.findall(r"`[^`\n]*?(?<![\w-])(--?[a-z][\w-]*)", _SECTIONS[name])) - {"-n"}
    assert options == shown


@pytest.mark.parametrize("option", command.OPTIONS)
def test_the_page_has_each_option_of_the_command(option):
    assert re.search(rf"`(jitney )?{re.escape(option)}\b", _SECTIONS["Run a program"])


@pytest.mark.parametrize("name", command.COMMANDS)
def test_the_page_has_each_word_that_may_follow_a_command(name):
    for words in re.findall(r"\[([\w|]+)\]", command.COMMANDS[name].arguments):
        for word in words.split("|"):
            assert re.search(rf"\b{word}\b", _SECTIONS[name])
