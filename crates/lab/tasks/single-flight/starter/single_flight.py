"""A cache that loads what it does not have."""


class SingleFlight:
    def __init__(self, loader):
        self.loader = loader
        self.values = {}

    async def get(self, key):
        if key not in self.values:
            self.values[key] = await self.loader(key)
        return self.values[key]

    def invalidate(self, key):
        self.values.pop(key, None)

    def cached(self, key):
        return key in self.values
