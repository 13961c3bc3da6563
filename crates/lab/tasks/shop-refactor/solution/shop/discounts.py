"""Discounts: which there are, in which order they work, and what each takes off."""


class UnknownDiscount(ValueError):
    """There is no discount of that code."""


def bulk(lines, remaining):
    return sum(cents // 5 for _, count, cents in lines if count >= 10)


def ten(lines, remaining):
    return remaining // 10


def gift(lines, remaining):
    return min(500, remaining)


# In the order of their working.
DISCOUNTS = (("BULK", bulk), ("TEN", ten), ("GIFT", gift))


def check(code):
    if all(code != known for known, _ in DISCOUNTS):
        raise UnknownDiscount(code)


def reductions(lines, codes):
    """What each of these takes off, as (code, cents), in the order of their working."""
    remaining = sum(cents for _, _, cents in lines)
    taken = []
    for code, discount in DISCOUNTS:
        if code in codes:
            cents = discount(lines, remaining)
            remaining -= cents
            taken.append((code, cents))
    return taken
