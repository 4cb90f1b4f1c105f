"""Effects on operands follow the operands, and sets of classes accept subclasses."""

import pytest

from jitney.core.types import effects
from jitney.core.types.effects import Effect, EffectTypeSet, GenericEffect, InputEffect, moved


class Write(InputEffect):
    pass


class Slow(Effect):
    pass


class Slower(Slow):
    pass


def test_sets_of_classes_accept_subclasses():
    slow = EffectTypeSet()
    slow.add_type(Slow)
    found = [Slow(), Slower(), effects.io_effect]
    assert slow.filter_in(found) == found[:2]
    assert slow.filter_not_in(found) == found[2:]
    assert not EffectTypeSet().contains(found[0])


@pytest.mark.parametrize("offset, index", [(0, 2), (3, 5), (-2, 0)])
def test_effects_on_operands_move(offset, index):
    assert moved({Write(2), effects.debug_effect}, offset) == {Write(index), effects.debug_effect}


def test_other_effects_are_left_alone():
    plain = frozenset([effects.io_effect])
    assert moved(plain, 5) is plain


def test_equal_effects_have_equal_classes_and_operands():
    assert Write(1) == Write(1) != InputEffect(1)
    assert hash(Write(1)) != hash(InputEffect(1))
    assert Write(1).replace(2) == Write(2)
    first, second = object(), object()
    assert GenericEffect(first) == GenericEffect(first) != GenericEffect(second)


def test_ordered_effects_are_those_of_program_order():
    kept = effects.ordered_effects.filter_in(
        [
            effects.debug_effect,
            effects.ordered_debug_effect,
            effects.io_effect,
            effects.ordered_io_effect,
        ]
    )
    assert [str(e) for e in kept] == ["OrderedDebug", "OrderedIO"]
    assert not effects.custom_derivatives_allowed_effects.contains(effects.io_effect)
    assert effects.has_io({effects.ordered_io_effect})
    assert not effects.has_io({effects.debug_effect})
