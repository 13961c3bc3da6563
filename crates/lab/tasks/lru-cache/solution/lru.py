"""A bounded cache. A dict keeps the order in which keys were put in; using one puts it in anew."""

ABSENT = object()


class LruCache:
    def __init__(self, capacity):
        if capacity < 1:
            raise ValueError("the capacity must be at least 1")
        self._capacity = capacity
        self._entries = {}

    def get(self, key, default=None):
        value = self._entries.pop(key, ABSENT)
        if value is ABSENT:
            return default
        self._entries[key] = value
        return value

    def put(self, key, value):
        self._entries.pop(key, None)
        if len(self._entries) >= self._capacity:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = value

    def pop(self, key, default=None):
        return self._entries.pop(key, default)

    def __contains__(self, key):
        return key in self._entries

    def __len__(self):
        return len(self._entries)

    def items(self):
        return list(self._entries.items())
