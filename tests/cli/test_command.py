"""The words of the command: programs, commands, options, and what is said of wrong ones."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jitney.cli import command, completion

COMMANDS = [*command.COMMANDS]


def jitney(*words: str, text: str = "", folder: Path | None = None):
    source = str(Path(__file__).parents[2] / "src")
    return subprocess.run(
        [sys.executable, "-m", "jitney", *words], input=text, cwd=folder, capture_output=True,
        text=True, timeout=60, env={**os.environ, "PYTHONPATH": source}, check=False,
    )  # fmt: skip


def python(*words: str, text: str = "", folder: Path | None = None):
    return subprocess.run(
        [sys.executable, *words],
        input=text,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


# --- help -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("asks", ["--help", "-h"])
@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(name, asks, capsys) -> None:
    assert command.main([name, asks]) == 0
    out, err = capsys.readouterr()
    assert out == command.module_of(name).USAGE and err == ""
    assert out.startswith(f"usage: jitney {name}")
    assert max(map(len, out.splitlines())) <= 110


def test_the_usage_has_all_commands(capsys) -> None:
    assert command.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert [*dict.fromkeys(re.findall(r"^       jitney ([a-z][a-z-]+)\b", out, re.M))] == COMMANDS
    assert max(map(len, out.splitlines())) <= 100


def test_commands_are_the_modules_that_have_a_usage() -> None:
    folder = Path(command.__file__).parent
    found = {p.stem.replace("_", "-") for p in folder.glob("*.py") if "\nUSAGE = " in p.read_text()}
    assert found - {"command"} == {*COMMANDS}


# --- wrong words ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--hepl"], "jitney: --hepl is not an option of jitney; did you mean --help?"),
        (["--nonsense"], "jitney: --nonsense is not an option of jitney"),
        (
            ["-u", "p.py"],
            "-u is not an option of jitney, but an option of Python: python -u -m jitney",
        ),
        (["-m"], "jitney: -m needs a value"),
        (["cache", "--othrs"], "jitney cache: unknown option --othrs; did you mean --others?"),
        (["tour", "--al"], "jitney tour: unknown option --al; did you mean --all?"),
        (["bench", "--functoin", "f"], "unknown option --functoin; did you mean --function?"),
        (
            ["explore", "--function", "f", "--opne"],
            "unknown option --opne; did you mean --open?",
        ),
        (["simulate", "--mesh", "2", "--memroy"], "--memroy; did you mean --memory?"),
    ],
)
def test_unknown_options(words, said, capsys) -> None:
    assert command.main(words) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("usage: jitney")
    assert second.partition(" (")[0].endswith(said) and second.endswith(" --help)")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "cache clera",
            "jitney cache: unknown argument clera; did you mean clear? (jitney cache --help)",
        ),
        ("cache clear all", "jitney cache: unknown argument clear all; did you mean clear?"),
        ("as-jax instal", "unknown argument instal; did you mean install?"),
        ("completion csh", "jitney completion: unknown argument csh"),
    ],
)
def test_words_that_a_command_does_not_know(words, said, capsys) -> None:
    assert command.main(words.split()) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("usage: jitney") and said in second


def test_a_word_that_is_almost_an_option(tmp_path, capsys, monkeypatch) -> None:
    (tmp_path / "program.py").write_text("import sys\nprint(sys.argv[1:])\n")
    done = jitney("profile", "program.py", "--trac", "x", folder=tmp_path)
    assert done.stdout.startswith("['--trac', 'x']")
    assert done.stderr == "jitney profile: --trac was passed to program.py; did you mean --trace?\n"
    assert jitney("profile", "program.py", "--", "--trac", folder=tmp_path).stderr == ""


@pytest.mark.parametrize(
    "words",
    [
        ["explore", "p.py", "-o", "none/x.html"],
        ["profile", "-o", "none/x.html", "p.py"],
        ["profile", "p.py", "--trace", "none/x.json"],
        ["bench", "p.py", "--function", "f", "--json", "none/x.json"],
    ],
)
def test_files_without_a_folder_are_refused_before_the_program_runs(words, tmp_path) -> None:
    (tmp_path / "p.py").write_text("print('runs')\n")
    done = jitney(*words, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "folder none does not exist" in done.stderr


@pytest.mark.parametrize("name", ["explain", "profile", "explore"])
def test_programs_that_are_no_files(name, tmp_path) -> None:
    program = "import sys, jax; print(sys.argv[1:], jax.jit(lambda x: x + 1)(1.0)); f = 1"
    (tmp_path / "mod.py").write_text(program)
    for words in (["-m", "mod"], ["-c", program]):
        done = jitney(name, *words, "word", "--mine", folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        printed = done.stdout.splitlines()
        assert printed[0] == "['word', '--mine'] 2.0" and "<lambda>" in done.stdout
    done = jitney(name, "-m", folder=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[1]) == (
        2,
        f"jitney {name}: -m needs a value (jitney {name} --help)",
    )


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("docter", "doctor"),
        ("chache", "cache"),
        ("nothing_like_it.py", None),
        ("profil.py", None),
        ("missing/profile", None),
        ("help", "--help"),
        ("version", "--version"),
    ],
)
def test_commands_that_are_meant(word, hint, capsys) -> None:
    assert command.main([word]) == 2
    first, *others = capsys.readouterr().err.splitlines()
    assert "can't open file" in first
    expected = [f"jitney: {word} is neither a file nor a command; did you mean {hint}?"]
    assert others == (expected if hint else [])


# --- programs -------------------------------------------------------------------------------------


def test_standard_input() -> None:
    text = "import sys, jax; print(sys.argv, jax.numpy.__name__, __name__)"
    done = jitney(text=text)
    assert (done.returncode, done.stdout) == (0, "[''] jax.numpy __main__\n")
    assert jitney("-", "a", text="import sys; print(sys.argv)").stdout == "['-', 'a']\n"
    assert jitney(text="import sys; sys.exit(3)").returncode == 3
    said = [x for x in jitney(text="1 / 0").stderr.splitlines() if not x.startswith("    ")]
    assert said == python(text="1 / 0").stderr.splitlines()  # which shows no lines of the source


def test_a_terminal_is_shown_the_usage() -> None:
    own, others = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "jitney"], stdin=others, capture_output=True, text=True, timeout=60
    )
    os.close(own)
    os.close(others)
    assert (done.returncode, done.stdout) == (0, command.USAGE)


PROGRAMS = {
    "ends": "x = 40\n",
    "fails": "x = 40\ndef f():\n    1 / 0\nf()\n",
    "exits": "import sys\nx = 40\nsys.exit(3)\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_prompt_after_a_program(name, tmp_path) -> None:
    (tmp_path / "program.py").write_text(PROGRAMS[name])
    text = "print(x + 2, __name__)\nx.nothing\nprint('end')\n"
    ours = jitney("-i", "program.py", text=text, folder=tmp_path)
    theirs = python("-i", "program.py", text=text, folder=tmp_path)
    assert ours.returncode == theirs.returncode == 0
    assert ours.stdout.replace(">>> ", "") == theirs.stdout.replace(">>> ", "")
    for said in (ours.stderr, theirs.stderr):
        assert "AttributeError: 'int' object has no attribute 'nothing'" in said
    before = [x.stderr.replace(">>> ", "").partition("AttributeError")[0] for x in (ours, theirs)]
    for said in before:
        assert ("ZeroDivisionError" in said) == (name == "fails")
        assert ("SystemExit: 3" in said) == (name == "exits")
    assert "jitney" not in before[0]


def test_the_prompt_after_others() -> None:
    text = "import jax; print(x, jax.__version__)\n"
    assert jitney("-i", "-c", "x = 1", text=text).stdout.replace(">>> ", "").startswith("1 0.")
    assert jitney("-i", text="x = 2\n" + text).stdout.replace(">>> ", "").startswith("2 0.")
    assert jitney("-i", text="exit(4)\n").returncode == 4
    assert jitney("-i", text="1 +\n").stderr.count("SyntaxError") == 1


# --- completion -----------------------------------------------------------------------------------


def completed(folder: Path, *words: str) -> list[str]:
    """What bash completes the last of the words to."""
    script = f"""
{completion.bash()}
COMP_WORDS=({" ".join([f"'{word}'" for word in words])})
COMP_CWORD={len(words) - 1}
_jitney
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash(tmp_path) -> None:
    (tmp_path / "be there.py").write_text("")
    assert completed(tmp_path, "jitney", "be") == ["bench", "be there.py"]
    assert completed(tmp_path, "jitney", "--h") == ["--help"]
    assert completed(tmp_path, "jitney", "bench", "--f") == ["--function"]
    assert completed(tmp_path, "jitney", "cache", "c") == ["clear"]
    shells = ["bash", "zsh", "fish"]
    words = completed(tmp_path, "jitney", "completion", "")
    assert words == [*shells, "--help", "be there.py"]
    assert completed(tmp_path, "jitney", "program.py", "--f") == [""]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell, capsys) -> None:
    assert command.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for name in COMMANDS:
        assert name in script
        for word in completion.words_of(name):
            assert word.lstrip("-") in script
    if shutil.which(shell) is not None:
        checked = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True)
        assert (checked.returncode, checked.stderr) == (0, "")


# --- reports of programs that end early -----------------------------------------------------------

ENDS = {
    "sys.exit(0)": (0, ""),
    "sys.exit(3)": (3, ""),
    "sys.exit('no room')": (1, "no room"),
    "1 / 0": (1, "ZeroDivisionError"),
    "raise KeyboardInterrupt": (-signal.SIGINT, "KeyboardInterrupt"),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", ["explain", "profile", "explore"])
def test_reports_come_however_a_program_ends(name, end, tmp_path) -> None:
    (tmp_path / "program.py").write_text(
        "import sys, jax, jax.numpy as jnp\n"
        "f = jax.jit(lambda x: jnp.sin(x).sum())\n"
        f"f(jnp.ones(100))\n{end}\n"
    )
    done = jitney(name, "program.py", folder=tmp_path)
    code, said = ENDS[end]
    assert done.returncode == code and said in done.stderr
    assert "jitney" not in done.stderr
    assert "<lambda>" in done.stdout
    assert (tmp_path / "explore.html").exists() == (name == "explore")


def test_reports_may_be_cut_short(tmp_path: Path) -> None:
    """`jitney explain program.py | head -1` ends without a traceback."""
    program = tmp_path / "program.py"
    program.write_text("import jax\njax.jit(lambda x: x + 1)(1.0)\n")
    source = str(Path(__file__).parents[2] / "src")
    line = f"{sys.executable} -m jitney explain {program} | true"
    done = subprocess.run(
        line, shell=True, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": source},
    )  # fmt: skip
    assert done.stderr == ""


def test_jitted_functions_of_the_package_are_explained(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import jax\nimport jax.numpy as jnp\njax.jit(jnp.sinh)(jnp.ones(3))\n")
    done = jitney("explain", str(program))
    assert done.returncode == 0 and "sinh(x: float32[3]) -> float32[3]" in done.stdout
