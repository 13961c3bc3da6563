class Item:
    """Compares by its value and counts; cannot be hashed."""

    compared = 0

    def __init__(self, value, name):
        self.value, self.name = value, name

    def count(self):
        Item.compared += 1

    def __eq__(self, other):
        self.count()
        return self.value == other.value

    def __ne__(self, other):
        self.count()
        return self.value != other.value

    def __lt__(self, other):
        self.count()
        return self.value < other.value

    def __le__(self, other):
        self.count()
        return self.value <= other.value

    def __gt__(self, other):
        self.count()
        return self.value > other.value

    def __ge__(self, other):
        self.count()
        return self.value >= other.value

    __hash__ = None


def plain(items):
    from dedupe import dedupe
    given = list(items)
    result = dedupe(given)
    return {"result": result, "list": type(result) is list, "same": given == items, "other": result is not given}


def generated(items):
    from dedupe import dedupe
    return dedupe(item for item in items)


def cost(values):
    from dedupe import dedupe
    items = [Item(value, at) for at, value in enumerate(values)]
    result = dedupe(items)
    return {"names": [item.name for item in result], "compared": Item.compared}
