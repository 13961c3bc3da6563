"""What a customer wants."""

from shop.discounts import check


class Cart:
    def __init__(self, catalogue):
        self.catalogue = catalogue
        self.discounts = []
        self._counts = {}

    def add(self, name, count=1):
        self.catalogue.price(name)
        self._set(name, self._counts.get(name, 0) + count)

    def remove(self, name, count=1):
        if name in self._counts:
            self._set(name, self._counts[name] - count)

    def _set(self, name, count):
        if count > 0:
            self._counts[name] = count
        else:
            self._counts.pop(name, None)

    def use(self, code):
        check(code)
        if code not in self.discounts:
            self.discounts.append(code)

    def lines(self):
        return [(name, count, self.catalogue.price(name) * count) for name, count in self._counts.items()]
