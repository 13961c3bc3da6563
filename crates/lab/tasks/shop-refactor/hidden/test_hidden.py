import pytest


def test_interface_names(probe):
    assert probe("names") == [True] * 8


def test_interface_receipt_without_discounts(probe):
    found = probe("sell", [["tea", 2], ["cup", 1]], [])
    assert found["receipt"] == "tea x 2              9.00\ncup x 1              7.99\ntotal               16.99\n"
    assert found["total"] == 1699


@pytest.mark.parametrize(
    "products,codes,total",
    [
        ([["tea", 12]], ["TEN", "BULK"], 3888),
        ([["tea", 10], ["cup", 9]], ["BULK"], 3600 + 7191),
        ([["jar", 1]], ["TEN"], 905),
        ([["pin", 11], ["jar", 13]], ["BULK", "GIFT", "TEN"], 8915),
    ],
)
def test_interface_totals(probe, products, codes, total):
    assert probe("sell", products, codes)["total"] == total
    assert probe("sell", products, codes[::-1])["total"] == total


def test_interface_receipt_with_discounts(probe):
    found = probe("sell", [["cup", 1]], ["GIFT", "TEN", "BULK", "GIFT"])
    assert found["receipt"].splitlines() == [
        "cup x 1              7.99",
        "BULK                 0.00",
        "TEN                 -0.79",
        "GIFT                -5.00",
        "total                2.20",
    ]
    assert found["discounts"] == ["GIFT", "TEN", "BULK"]
    small = probe("sell", [["pin", 3]], ["GIFT"])
    assert small["total"] == 0 and "GIFT                -0.03" in small["receipt"]


def test_structure_imports(probe):
    found = probe("sources")
    assert found["discounts"]["imports"] == [] and found["catalogue"]["imports"] == []
    assert "receipt" not in found["cart"]["imports"]
    # Take away whoever imports nobody that is left, until nobody is.
    left = {name: set(one["imports"]) for name, one in found.items()}
    while left:
        free = [name for name, needs in left.items() if not needs & set(left)]
        assert free, f"a circle: {sorted(left)}"
        for name in free:
            del left[name]


def test_structure_one_place_for_codes(probe):
    found = probe("sources")
    assert found["discounts"]["codes"] >= 3
    assert {name: one["codes"] for name, one in found.items() if name != "discounts" and one["codes"]} == {}


def test_structure_every_module_alone(probe):
    for module in ("discounts", "catalogue", "cart", "pricing", "receipt"):
        assert probe("alone", "shop." + module)


def test_state_carts_are_apart(probe):
    found = probe("apart")
    assert found == {"totals": [0, 9], "discounts": [["GIFT"], []], "missing": True, "lines": 1, "same": True}


def test_state_of_a_cart(probe):
    found = probe("changes", [["add", "tea", 2], ["add", "cup"], ["remove", "tea", 5], ["remove", "jar"], ["add", "nope"], ["use", "HALF"], ["add", "tea"], ["use", "TEN"], ["use", "TEN"]])
    assert found["said"] == ["-", "-", "-", "-", "UnknownProduct", "UnknownDiscount", "-", "-", "-"]
    assert found["lines"] == [["cup", 1, 799], ["tea", 1, 450]] and found["discounts"] == ["TEN"]
    assert probe("state")
