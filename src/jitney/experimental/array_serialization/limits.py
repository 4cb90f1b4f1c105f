"""A limit of the bytes that are read or written at once."""

from __future__ import annotations

import asyncio


class LimitInFlightBytes:
    """Limits the bytes in flight; further requests wait for earlier ones to finish."""

    def __init__(self, host_memory_bytes_limit: int) -> None:
        self._max_bytes = host_memory_bytes_limit
        self._available_bytes = host_memory_bytes_limit
        self._cv = asyncio.Condition()

    def _share(self, requested_bytes: int) -> int:
        return min(requested_bytes, self._max_bytes)  # what is larger than the limit goes alone

    async def wait_for_bytes(self, requested_bytes: int) -> None:
        """Takes a share as soon as there is one."""
        share = self._share(requested_bytes)
        async with self._cv:
            await self._cv.wait_for(lambda: self._available_bytes >= share)
            self._available_bytes -= share

    async def release_bytes(self, requested_bytes: int) -> None:
        """Gives a share back."""
        async with self._cv:
            self._available_bytes += self._share(requested_bytes)
            self._cv.notify_all()
