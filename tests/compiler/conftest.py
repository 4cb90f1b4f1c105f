"""What holds for all tests of the compiler."""

from collections.abc import Iterator

import pytest

from jitney.runtime.compilation import compiling


@pytest.fixture(autouse=True, scope="module")
def programs_are_compiled() -> Iterator[None]:
    """Tests here compile a program again with other costs, passes or processors: none is reused."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "MAX_CONSTANT_BYTES", -1)
        yield
