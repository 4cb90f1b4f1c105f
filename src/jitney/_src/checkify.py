"""`jax._src.checkify`; chex reads the errors' classes, flax which are checked by default."""

from jitney.experimental.checkify import user_checks as user_checks
from jitney.experimental.checkify.error import (
    DivisionByZeroError as DivisionByZeroError,
    Error as Error,
    ErrorEffect as ErrorEffect,
    FailedCheckError as FailedCheckError,
    JaxException as JaxException,
    JaxRuntimeError as JaxRuntimeError,
    NaNError as NaNError,
    OOBError as OOBError,
)
