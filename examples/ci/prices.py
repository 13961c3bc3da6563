def total(prices, discount_percent=0):
    """The sum in cents, less a discount, rounded half up."""
    return sum(prices) * (100 - discount_percent) // 100
