"""Prices in cents."""


def total(prices, discount=0):
    """The sum of all prices, less a discount in percent."""
    return sum(prices) - discount
