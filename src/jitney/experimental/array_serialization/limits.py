"""A limit on the number of bytes that are read or written at the same time."""

from __future__ import annotations

import asyncio


class LimitInFlightBytes:
    """A limit on in-flight bytes; requests that exceed it wait until earlier ones are released.

    Args:
      host_memory_bytes_limit: the limit in bytes.
    """

    def __init__(self, host_memory_bytes_limit: int) -> None:
        self._max_bytes = host_memory_bytes_limit
        self._available_bytes = host_memory_bytes_limit
        self._cv = asyncio.Condition()

    def _share(self, requested_bytes: int) -> int:
        return min(requested_bytes, self._max_bytes)  # a request above the limit runs alone

    async def wait_for_bytes(self, requested_bytes: int) -> None:
        """Waits until `requested_bytes` are available, and acquires them."""
        share = self._share(requested_bytes)
        async with self._cv:
            await self._cv.wait_for(lambda: self._available_bytes >= share)
            self._available_bytes -= share

    async def release_bytes(self, requested_bytes: int) -> None:
        """Releases the bytes that `wait_for_bytes` has acquired."""
        async with self._cv:
            self._available_bytes += self._share(requested_bytes)
            self._cv.notify_all()
