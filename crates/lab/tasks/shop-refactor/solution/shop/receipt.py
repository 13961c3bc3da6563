"""What a customer gets to read."""

from shop.pricing import reductions_of, total_of


def receipt(cart):
    rows = [(f"{name} x {count}", cents) for name, count, cents in cart.lines()]
    rows += [(code, -cents) for code, cents in reductions_of(cart)]
    rows.append(("total", total_of(cart)))
    return "".join(f"{what:16}{cents / 100:9.2f}\n" for what, cents in rows)
