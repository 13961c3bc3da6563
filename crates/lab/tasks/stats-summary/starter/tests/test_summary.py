import pytest

from stats_summary import summary


def test_an_odd_number_of_values():
    figures = summary([3, 1, 2])
    assert figures["count"] == 3
    assert figures["median"] == 2
    assert (figures["min"], figures["max"]) == (1, 3)


def test_sample_variance():
    assert summary([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])["variance"] == pytest.approx(32 / 7)


def test_no_values():
    with pytest.raises(ValueError):
        summary([])
