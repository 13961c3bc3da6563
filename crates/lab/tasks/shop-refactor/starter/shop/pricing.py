"""What a customer pays."""


class UnknownDiscount(ValueError):
    pass


def total_of(cart):
    total = 0
    for name, count, cents in cart.lines():
        if "BULK" in cart.discounts and count > 10:
            cents = int(cents * 0.8)
        total += cents
    for code in cart.discounts:
        if code == "TEN":
            total = round(total * 0.9)
        if code == "GIFT":
            total = total - 500
    return total
