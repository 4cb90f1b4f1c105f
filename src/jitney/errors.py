"""`jax.errors`: the errors of the public API. `docs/errors.md` explains their causes and fixes."""

from jitney.core.diagnostics.errors import (
    ConcretizationTypeError as ConcretizationTypeError,
    InconclusiveDimensionOperation as InconclusiveDimensionOperation,
    JAXIndexError as JAXIndexError,
    JaxRuntimeError as JaxRuntimeError,
    JAXTypeError as JAXTypeError,
    KeyReuseError as KeyReuseError,
    NonConcreteBooleanIndexError as NonConcreteBooleanIndexError,
    TracerArrayConversionError as TracerArrayConversionError,
    TracerBoolConversionError as TracerBoolConversionError,
    TracerIntegerConversionError as TracerIntegerConversionError,
    UnexpectedTracerError as UnexpectedTracerError,
)
from jitney.core.program.typecheck import JaxprTypeError as JaxprTypeError
from jitney.core.util.lazy import listing

__dir__ = listing(__name__)
