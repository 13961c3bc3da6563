import pytest


def put(*pairs):
    return [["put", key, value] for key, value in pairs]


def test_recency_get_counts(probe):
    found = probe("play", 2, put(("a", 1), ("b", 2)) + [["get", "a"]] + put(("c", 3)))
    assert found["items"] == [["a", 1], ["c", 3]]


def test_recency_put_counts_and_replaces(probe):
    found = probe("play", 2, put(("a", 1), ("b", 2), ("a", 9), ("c", 3)))
    assert found["items"] == [["a", 9], ["c", 3]]


def test_recency_looking_does_not_count(probe):
    calls = put(("a", 1), ("b", 2)) + [["in", "a"], ["items"], ["len"], ["get", "x"]] + put(("c", 3))
    found = probe("play", 2, calls)
    assert found["said"][2:6] == [True, [["a", 1], ["b", 2]], 2, None]
    assert found["items"] == [["b", 2], ["c", 3]]


def test_recency_long_play(probe):
    order, calls, wanted = [], [], {}
    for at in range(400):
        key = at * at % 23
        if at % 3:
            calls.append(["put", key, at])
            if key in wanted:
                order.remove(key)
            elif len(order) == 8:
                wanted.pop(order.pop(0))
            order.append(key)
            wanted[key] = at
        else:
            calls.append(["get", key])
            if key in wanted:
                order.remove(key)
                order.append(key)
    assert probe("play", 8, calls)["items"] == [[key, wanted[key]] for key in order]


def test_interface_none_is_a_value(probe):
    found = probe("play", 3, put(("a", None), ("b", 0)) + [["get", "a", 7], ["get", "b", 7], ["in", "a"], ["get", "z", 7]])
    assert found["said"][2:] == [None, 0, True, 7]


def test_interface_pop(probe):
    found = probe("play", 3, put(("a", 1), ("b", None)) + [["pop", "b", 5], ["pop", "z"], ["pop", "z", 4], ["len"]])
    assert found["said"][2:] == [None, None, 4, 1]


@pytest.mark.parametrize("capacity", [0, -3])
def test_interface_capacity(probe, capacity):
    assert "ValueError" in probe("make", capacity)["raised"]
    assert probe("own_list") == {"kind": True, "length": 1}


def test_cost(probe):
    found = probe("cost", 2000)
    assert found["length"] == 2000
    assert found["compared"] < 2000 * 12
