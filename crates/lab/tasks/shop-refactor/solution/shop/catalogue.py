"""What there is, and what it costs."""


class UnknownProduct(KeyError):
    """Nothing of that name is sold."""


class Catalogue:
    def __init__(self, prices):
        self._prices = dict(prices)

    def price(self, name):
        if name not in self._prices:
            raise UnknownProduct(name)
        return self._prices[name]
