import asyncio

import pytest

from single_flight import SingleFlight


class Loader:
    """Loads that end when the test says so."""

    def __init__(self):
        self.calls = []

    async def __call__(self, key):
        future = asyncio.get_running_loop().create_future()
        self.calls.append((key, future))
        return await future


async def settle():
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_value_is_kept():
    async def scene():
        loader = Loader()
        flight = SingleFlight(loader)
        first = asyncio.ensure_future(flight.get("a"))
        await settle()
        loader.calls[0][1].set_result(1)
        assert await first == 1
        assert await flight.get("a") == 1
        assert len(loader.calls) == 1

    asyncio.run(scene())


def test_two_callers_share_a_load():
    async def scene():
        loader = Loader()
        flight = SingleFlight(loader)
        callers = [asyncio.ensure_future(flight.get("a")) for _ in range(2)]
        await settle()
        assert len(loader.calls) == 1
        loader.calls[0][1].set_result(1)
        assert await asyncio.gather(*callers) == [1, 1]

    asyncio.run(scene())


def test_a_failure_is_not_kept():
    async def scene():
        loader = Loader()
        flight = SingleFlight(loader)
        first = asyncio.ensure_future(flight.get("a"))
        await settle()
        loader.calls[0][1].set_exception(KeyError("a"))
        with pytest.raises(KeyError):
            await first
        assert not flight.cached("a")

    asyncio.run(scene())
