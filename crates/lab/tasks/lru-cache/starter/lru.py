"""A bounded cache."""


class LruCache:
    def __init__(self, capacity):
        self.capacity = capacity
        self.entries = []

    def get(self, key, default=None):
        for known, value in self.entries:
            if known == key:
                return value or default
        return default

    def put(self, key, value):
        if len(self.entries) >= self.capacity:
            self.entries.pop(0)
        self.entries.append((key, value))

    def pop(self, key, default=None):
        for at, (known, value) in enumerate(self.entries):
            if known == key:
                del self.entries[at]
                return value
        return default

    def __contains__(self, key):
        return self.get(key) is not None

    def __len__(self):
        return len(self.entries)

    def items(self):
        return self.entries
