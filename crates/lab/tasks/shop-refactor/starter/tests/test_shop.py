import pytest

from shop import Cart, Catalogue, UnknownDiscount, receipt, total_of

PRICES = {"tea": 450, "cup": 799}


def test_a_plain_cart():
    cart = Cart(Catalogue(PRICES))
    cart.add("tea", 2)
    cart.add("cup")
    assert total_of(cart) == 1699
    assert receipt(cart) == "tea x 2              9.00\ncup x 1              7.99\ntotal               16.99\n"


def test_discounts():
    cart = Cart(Catalogue(PRICES))
    cart.add("tea", 12)
    cart.use("TEN")
    cart.use("BULK")
    assert total_of(cart) == 3888
    assert receipt(cart).splitlines() == [
        "tea x 12            54.00",
        "BULK               -10.80",
        "TEN                 -4.32",
        "total               38.88",
    ]


def test_carts_are_apart():
    first, second = Cart(Catalogue(PRICES)), Cart(Catalogue(PRICES))
    first.use("GIFT")
    assert second.discounts == []


def test_an_unknown_discount():
    cart = Cart(Catalogue(PRICES))
    with pytest.raises(UnknownDiscount):
        cart.use("HALF")
    assert cart.discounts == []
