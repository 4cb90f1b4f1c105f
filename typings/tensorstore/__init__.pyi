"""What jitney uses of tensorstore, which has no annotations of its own."""

from collections.abc import Generator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

T = TypeVar("T")

class Future(Generic[T]):
    def result(self, timeout: float | None = None) -> T: ...
    def __await__(self) -> Generator[Any, None, T]: ...

class Context:
    def __init__(self, spec: dict[str, Any]) -> None: ...

class ChunkLayout:
    def __init__(
        self,
        *,
        read_chunk: ChunkLayout.Grid | None = None,
        write_chunk: ChunkLayout.Grid | None = None,
    ) -> None: ...

    class Grid:
        def __init__(self, *, elements: int) -> None: ...

class Transaction: ...

class Spec:
    def __init__(self, json: Any) -> None: ...

class IndexDomain:
    def __init__(
        self, *, inclusive_min: Sequence[int] = ..., shape: Sequence[int] = ...
    ) -> None: ...
    @property
    def origin(self) -> tuple[int, ...]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    def intersect(self, other: IndexDomain) -> IndexDomain: ...

class DataType:
    @property
    def numpy_dtype(self) -> np.dtype[Any]: ...

class WriteFutures:
    copy: Future[None]
    commit: Future[None]

class ChunkGrid:
    shape: tuple[int, ...] | None

class TensorStoreChunkLayout:
    read_chunk: ChunkGrid

class TensorStore:
    domain: IndexDomain
    shape: tuple[int, ...]
    dtype: DataType
    chunk_layout: TensorStoreChunkLayout
    def __getitem__(self, index: Any) -> TensorStore: ...
    def read(self) -> Future[np.ndarray]: ...
    def write(
        self, source: Any, *, can_reference_source_data_indefinitely: bool = False
    ) -> WriteFutures: ...

class KvStore:
    @staticmethod
    def open(spec: Any, *, context: Context | None = None) -> Future[KvStore]: ...
    def experimental_copy_range_to(self, target: KvStore) -> Future[None]: ...

def open(  # noqa: A001
    spec: Any,
    *,
    open: bool | None = None,  # noqa: A002
    create: bool | None = None,
    assume_metadata: bool | None = None,
    context: Context | None = None,
    chunk_layout: ChunkLayout | None = None,
    transaction: Transaction | None = None,
) -> Future[TensorStore]: ...
