def firsts(values):
    return [at for at, value in enumerate(values) if at == 0 or values[at - 1] != value]


def test_result(probe):
    found = probe("plain", [1, 1, 2, 5, 5, 5, 9])
    assert found == {"result": [1, 2, 5, 9], "list": True, "same": True, "other": True}
    assert probe("plain", [])["result"] == []
    assert probe("plain", [None, None])["result"] == [None]


def test_result_of_a_generator(probe):
    assert probe("generated", ["a", "a", "b"]) == ["a", "b"]


def test_result_unhashable_first_of_each(probe):
    assert probe("cost", [3, 3, 4, 7, 7, 7])["names"] == [0, 2, 3]


def test_cost_of_distinct_items(probe):
    values = list(range(3000))
    found = probe("cost", values)
    assert found["names"] == values and found["compared"] <= 3005


def test_cost_of_groups(probe):
    values = sorted(at * at % 97 for at in range(2000))
    assert values == sorted(values) and len(set(values)) > 40
    found = probe("cost", values)
    assert found["names"] == firsts(values) and found["compared"] <= 2005


def test_cost_of_equal_items(probe):
    found = probe("cost", [1] * 2500)
    assert found["names"] == [0] and found["compared"] <= 2505
