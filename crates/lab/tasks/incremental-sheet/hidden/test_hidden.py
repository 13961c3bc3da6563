import pytest

DIAMOND = [
    ["value", "a", 1],
    ["formula", "l", ["a"], "sum"],
    ["formula", "r", ["a"], "negative"],
    ["formula", "t", ["l", "r", "a"], "sum"],
]


def value(number, *calls):
    return [{"value": number}, sorted(calls)]


def test_values_and_order_of_inputs(probe):
    steps = [["value", "a", 8], ["value", "b", 2], ["formula", "c", ["a", "b"], "divide"], ["get", "c"], ["get", "a"], ["value", "b", 4], ["get", "c"]]
    assert probe("play", steps) == [value(4, "c"), value(8), value(2, "c")]


def test_values_cells_change_their_kind(probe):
    steps = [["value", "a", 1], ["formula", "b", ["a"], "sum"], ["get", "b"], ["formula", "a", ["z"], "sum"], ["value", "z", 9], ["get", "b"], ["value", "a", 3], ["get", "b"], ["value", "z", 1], ["get", "b"]]
    assert probe("play", steps) == [value(1, "b"), value(9, "a", "b"), value(3, "b"), value(3)]


def test_values_formula_set_anew(probe):
    steps = [["value", "a", 3], ["formula", "b", ["a"], "sum"], ["get", "b"], ["formula", "b", ["a"], "negative"], ["get", "b"], ["get", "b"]]
    assert probe("play", steps) == [value(3, "b"), value(-3, "b"), value(-3)]


def test_cost_diamond(probe):
    steps = DIAMOND + [["get", "t"], ["get", "t"], ["value", "a", 5], ["get", "l"], ["get", "t"]]
    assert probe("play", steps) == [value(1, "l", "r", "t"), value(1), value(5, "l"), value(5, "r", "t")]


def test_cost_same_value(probe):
    steps = DIAMOND + [["get", "t"], ["value", "a", 1], ["get", "t"], ["value", "a", 2], ["value", "a", 1], ["get", "t"]]
    assert probe("play", steps) == [value(1, "l", "r", "t"), value(1), value(1)]


def test_cost_same_result_cuts_off(probe):
    steps = [["value", "a", 1], ["formula", "p", ["a"], "parity"], ["formula", "q", ["p"], "sum"], ["formula", "r", ["q"], "sum"], ["get", "r"], ["value", "a", 7], ["get", "r"], ["value", "a", 8], ["get", "r"]]
    assert probe("play", steps) == [value(1, "p", "q", "r"), value(1, "p"), value(0, "p", "q", "r")]


def test_cost_only_what_is_needed(probe):
    steps = [["value", "a", 1], ["value", "b", 1], ["formula", "x", ["a"], "sum"], ["formula", "y", ["b"], "sum"], ["get", "x"], ["value", "b", 2], ["get", "x"], ["get", "y"]]
    assert probe("play", steps) == [value(1, "x"), value(1), value(2, "y")]


def test_cost_of_a_ladder(probe):
    steps = [["value", "x0", 1]]
    for at in range(1, 17):
        steps.append(["formula", f"x{at}", [f"x{at - 1}", f"x{at - 1}"], "sum"])
    (result, calls), = probe("play", steps + [["get", "x16"]])
    assert result == {"value": 2**16} and len(calls) == 16


def test_cost_of_setting_is_flat(probe):
    found = probe("fan", 1000, 1000)
    assert found["calls"] == 1000
    assert found["looked"] <= 4000


def test_shape_long_chains(probe):
    assert probe("chain", 20_000) == {"values": [20_000, 20_005], "calls": [20_000, 20_000]}
    assert "CycleError" in probe("circle", 20_000)


def test_shape_missing_cells(probe):
    assert probe("missing") == {"names": ["nothing", "nowhere"], "then": 4}


def test_shape_circles_open_again(probe):
    steps = [["value", "v", 1], ["formula", "a", ["b", "v"], "sum"], ["formula", "b", ["a"], "sum"], ["formula", "c", ["v"], "sum"], ["get", "a"], ["get", "c"], ["formula", "b", ["v"], "negative"], ["get", "a"], ["formula", "s", ["s"], "sum"], ["get", "s"]]
    said = probe("play", steps)
    assert [said[0][0].get("raised", [])[:2], said[0][1]] == [["CycleError", "ValueError"], []]
    assert said[1:3] == [value(1, "c"), value(0, "a", "b")]
    assert said[3][0]["raised"][0] == "CycleError"


def test_shape_formulas_that_raise(probe):
    steps = [["value", "a", 1], ["value", "b", 0], ["formula", "c", ["a", "b"], "divide"], ["formula", "d", ["c"], "sum"], ["get", "d"], ["get", "d"], ["value", "b", 2], ["get", "d"]]
    said = probe("play", steps)
    assert [said[0][0]["raised"][0], said[0][1]] == ["ZeroDivisionError", ["c"]]
    assert said[1] == said[0] and said[2] == value(0.5, "c", "d")
