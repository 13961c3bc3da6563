from dedupe import dedupe


class Counted:
    compared = 0

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        Counted.compared += 1
        return self.value == other.value


def test_result():
    assert dedupe([1, 1, 2, 3, 3, 3]) == [1, 2, 3]
    assert dedupe([]) == []


def test_cost():
    Counted.compared = 0
    items = [Counted(at // 2) for at in range(100)]
    assert len(dedupe(items)) == 50
    assert Counted.compared <= 105
