"""Counts by key, for any number of threads."""

import threading


class KeyedCounter:
    def __init__(self):
        self._lock = threading.Lock()
        self._counts = {}

    def add(self, key, amount=1):
        with self._lock:
            count = self._counts.get(key, 0) + amount
            self._counts[key] = count
            return count

    def value(self, key):
        with self._lock:
            return self._counts.get(key, 0)

    def total(self):
        with self._lock:
            return sum(self._counts.values())

    def drain(self):
        with self._lock:
            counts, self._counts = self._counts, {}
            return counts
