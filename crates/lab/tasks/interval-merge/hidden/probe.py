def merge(intervals):
    from intervals import merge
    return outcome(merge, [tuple(interval) for interval in intervals])


def kinds(intervals):
    from intervals import merge
    given = [tuple(interval) for interval in intervals]
    before = list(given)
    result = merge(iter(given))
    return {"result": result, "list": type(result) is list, "tuples": all(type(one) is tuple for one in result), "same": given == before}


def many(count):
    from intervals import merge

    class Number:
        compared = 0

        def __init__(self, value):
            self.value = value

        def __lt__(self, other):
            Number.compared += 1
            return self.value < other.value

        def __le__(self, other):
            Number.compared += 1
            return self.value <= other.value

        def __gt__(self, other):
            return other < self

        def __ge__(self, other):
            return other <= self

        def __eq__(self, other):
            Number.compared += 1
            return self.value == other.value

        __hash__ = None

    # A fixed walk through all starts, so that they come in no order.
    starts = [at * 7919 % count for at in range(count)]
    result = merge([(Number(3 * at), Number(3 * at + 1)) for at in starts])
    return {"length": len(result), "compared": Number.compared}
