"""Requests wait until earlier ones have released enough bytes."""

import asyncio

from jitney.experimental.array_serialization.limits import LimitInFlightBytes


def order_of(limit, sizes):
    """The order in which requests of the given sizes begin ("+k") and end ("-k")."""
    events = []

    async def request(limiter, k, n):
        await limiter.wait_for_bytes(n)
        events.append(f"+{k}")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        events.append(f"-{k}")
        await limiter.release_bytes(n)

    async def run():
        limiter = LimitInFlightBytes(limit)
        await asyncio.gather(*[request(limiter, k, n) for k, n in enumerate(sizes)])
        assert limiter._available_bytes == limit

    asyncio.run(asyncio.wait_for(run(), 10))
    return events


def test_requests_within_the_limit_run_at_once():
    assert order_of(10, [4, 6])[:2] == ["+0", "+1"]


def test_requests_beyond_the_limit_wait():
    assert order_of(10, [6, 5]) == ["+0", "-0", "+1", "-1"]


def test_smaller_requests_need_not_wait_for_larger_ones():
    assert order_of(10, [6, 5, 4])[:2] == ["+0", "+2"]


def test_a_request_above_the_limit_runs_alone():
    assert order_of(10, [25, 1]) == ["+0", "-0", "+1", "-1"]
