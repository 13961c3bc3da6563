"""What a customer gets to read."""

LINES = []


def receipt(cart):
    from shop.pricing import total_of

    del LINES[:]
    total = 0
    for name, count, cents in cart.lines():
        LINES.append(f"{name} x {count}".ljust(16) + f"{cents / 100:9.2f}")
        total += cents
    if "TEN" in cart.discounts:
        LINES.append("TEN".ljust(16) + f"{-total * 0.1 / 100:9.2f}")
    LINES.append("total".ljust(16) + f"{total_of(cart) / 100:9.2f}")
    return "\n".join(LINES) + "\n"
