from intervals import merge


def test_overlapping():
    assert merge([(1, 3), (2, 5), (8, 9)]) == [(1, 5), (8, 9)]


def test_any_order():
    assert merge([(8, 9), (2, 5), (1, 3)]) == [(1, 5), (8, 9)]


def test_neighbours_stay_apart():
    assert merge([(1, 2), (3, 4)]) == [(1, 2), (3, 4)]
