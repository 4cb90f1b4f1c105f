"""The public names of a module are those that its source defines or exports on purpose."""

from jitney.core.util.declared_names import declared

SOURCE = '''
"""Docstring."""
import os
import json as json
from math import sin, cos as cos, tan as _tan
from math import pi as PI
a = b = 1
(c, [d, *e]) = 1, [2, 3]
x.attribute = 2
f: int = 3
g: str
_h = 4
def i(): j = 1
class K: l = 2
if True:
    n = 1
a += 1
'''


def test_names_are_those_bound_at_the_top(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    names = declared(str(path))
    assert {"json", "cos", "a", "b", "c", "d", "e", "f", "g", "i", "K"} <= names
    assert not {"os", "sin", "tan", "_tan", "PI", "_h", "j", "l", "attribute"} & names
    assert declared(str(path)) is names  # read once
