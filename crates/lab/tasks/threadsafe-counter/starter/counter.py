"""Counts by key."""


class KeyedCounter:
    def __init__(self):
        self.counts = {}

    def add(self, key, amount=1):
        count = self.counts.get(key, 0)
        count = count + amount
        self.counts[key] = count
        return count

    def value(self, key):
        return self.counts.get(key, 0)

    def total(self):
        total = 0
        for key in self.counts:
            total = total + self.counts[key]
        return total

    def drain(self):
        counts = self.counts
        self.counts = {}
        return counts
