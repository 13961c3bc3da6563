"""What a customer wants."""

from shop.receipt import receipt


class Cart:
    def __init__(self, catalogue, discounts=[]):
        self.catalogue = catalogue
        self.counts = {}
        self.discounts = discounts

    def add(self, name, count=1):
        self.catalogue.price(name)
        self.counts[name] = self.counts.get(name, 0) + count

    def remove(self, name, count=1):
        self.counts[name] = self.counts[name] - count

    def use(self, code):
        self.discounts.append(code)
        if code not in ("TEN", "BULK", "GIFT"):
            from shop.pricing import UnknownDiscount

            raise UnknownDiscount(code)

    def lines(self):
        return [(name, count, self.catalogue.price(name) * count) for name, count in self.counts.items()]

    def __str__(self):
        return receipt(self)
