import pytest


@pytest.mark.parametrize(
    "given,wanted",
    [
        ([[2, 5], [1, 3]], [[1, 5]]),
        ([[1, 2], [2, 3]], [[1, 3]]),
        ([[3, 4], [1, 2]], [[1, 2], [3, 4]]),
        ([[1, 10], [2, 3], [4, 5]], [[1, 10]]),
        ([[4, 4], [0, 1], [4, 4], [1, 1]], [[0, 1], [4, 4]]),
    ],
)
def test_merging(probe, given, wanted):
    assert probe("merge", given) == {"value": wanted}


def test_merging_many(probe):
    found = probe("many", 20_000)
    assert found["length"] == 20_000
    # Sorting takes about n log n comparisons, twice as many where pairs are compared.
    assert found["compared"] < 20_000 * 60


def test_merging_fractions_and_negatives(probe):
    assert probe("merge", [[0.5, 1.5], [-2, 0.25], [1.5, 1.75]]) == {"value": [[-2, 0.25], [0.5, 1.75]]}


def test_input_wrong(probe):
    for wrong in ([[3, 1]], [[0, 9], [5, 4]], [[1, 2, 3]], [[1]]):
        assert "ValueError" in probe("merge", wrong).get("raised", []), wrong


def test_input_kinds(probe):
    assert probe("merge", []) == {"value": []}
    found = probe("kinds", [[5, 6], [1, 2]])
    assert found == {"result": [[1, 2], [5, 6]], "list": True, "tuples": True, "same": True}
