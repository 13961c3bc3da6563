"""A cache that loads what it does not have, once for everybody who asks."""

import asyncio


class Load:
    """One load on its way, and how many wait for it."""

    def __init__(self, task):
        self.task = task
        self.waiting = 0


class SingleFlight:
    def __init__(self, loader):
        self._loader = loader
        self._values = {}
        self._loads = {}

    async def get(self, key):
        if key in self._values:
            return self._values[key]
        load = self._loads.get(key)
        if load is None:
            load = self._loads[key] = Load(asyncio.ensure_future(self._loader(key)))
            load.task.add_done_callback(lambda task: self._over(key, load))
        load.waiting += 1
        try:
            # The load belongs to all who wait, so that none of them takes it along when it leaves.
            return await asyncio.shield(load.task)
        finally:
            load.waiting -= 1
            if load.waiting == 0 and not load.task.done():
                self._forget(key, load)
                load.task.cancel()

    def _over(self, key, load):
        # A load that was invalidated is nobody's any longer, and what it brings is not kept.
        current = self._loads.get(key) is load
        self._forget(key, load)
        if load.task.cancelled() or load.task.exception() is not None:
            return
        if current:
            self._values[key] = load.task.result()

    def _forget(self, key, load):
        if self._loads.get(key) is load:
            del self._loads[key]

    def invalidate(self, key):
        self._values.pop(key, None)
        self._loads.pop(key, None)

    def cached(self, key):
        return key in self._values
