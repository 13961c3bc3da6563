import statistics

import pytest


def test_figures_keys(probe):
    value = probe("summary", [4, 1, 3])["value"]
    assert sorted(value) == ["count", "max", "mean", "median", "min", "variance"]


def test_figures_mean_and_ends(probe):
    value = probe("summary", [4, 1, 3, 10])["value"]
    assert (value["count"], value["mean"], value["min"], value["max"]) == (4, 4.5, 1, 10)


@pytest.mark.parametrize("values", [[5, 1, 4], [9, 1, 2, 8], [1, 1, 2, 2], [-3.5, 7.25, 0, 2]])
def test_figures_median_and_variance(probe, values):
    value = probe("summary", values)["value"]
    assert value["median"] == pytest.approx(statistics.median(values))
    assert value["variance"] == pytest.approx(statistics.variance(values))


def test_edges_none_and_one(probe):
    assert "ValueError" in probe("summary", [])["raised"]
    assert "ValueError" in probe("of_generator", [])["raised"]
    value = probe("summary", [7])["value"]
    assert (value["count"], value["mean"], value["median"], value["variance"]) == (1, 7.0, 7, 0.0)


def test_edges_generator_and_input_unchanged(probe):
    assert probe("of_generator", [2, 1, 3])["value"]["median"] == 2
    assert probe("left_alone", [3, 1, 2]) == [3, 1, 2]


def test_edges_large_values_close_together(probe):
    values = [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16]
    assert probe("summary", values)["value"]["variance"] == pytest.approx(30.0, rel=1e-6)
