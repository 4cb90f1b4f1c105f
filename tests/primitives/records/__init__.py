"""What the tests know of each operation, one `Record` for each, by family."""

from tests.primitives.records import (
    binary,
    contraction,
    convert,
    convolution,
    indexing,
    reduce,
    shape,
    signal,
    sparse,
    special,
    unary,
)
from tests.primitives.records.record import Record

FAMILIES = {
    "unary": unary.RECORDS,
    "binary": binary.RECORDS,
    "convert": convert.RECORDS,
    "shape": shape.RECORDS,
    "reduce": reduce.RECORDS,
    "contraction": contraction.RECORDS,
    "convolution": convolution.RECORDS,
    "indexing": indexing.RECORDS,
    "special": special.RECORDS,
    "signal": signal.RECORDS,
    "sparse": sparse.RECORDS,
}


def all_records() -> list[tuple[str, Record]]:
    """(family, record) of every operation."""
    return [(family, r) for family, records in FAMILIES.items() for r in records]
