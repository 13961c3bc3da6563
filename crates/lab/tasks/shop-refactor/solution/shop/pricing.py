"""What a customer pays."""

from shop.discounts import UnknownDiscount, reductions

__all__ = ["UnknownDiscount", "reductions_of", "total_of"]


def reductions_of(cart):
    return reductions(cart.lines(), cart.discounts)


def total_of(cart):
    full = sum(cents for _, _, cents in cart.lines())
    return full - sum(cents for _, cents in reductions_of(cart))
