import pytest

from sheet import CycleError, Sheet


def test_formulas():
    sheet = Sheet()
    sheet.set_value("a", 2)
    sheet.set_formula("b", ["a", "a"], lambda x, y: x * y)
    assert sheet.get("b") == 4
    sheet.set_value("a", 3)
    assert sheet.get("b") == 9


def test_each_formula_is_called_once():
    calls = []
    sheet = Sheet()
    sheet.set_value("x0", 1)
    for at in range(1, 15):
        sheet.set_formula(f"x{at}", [f"x{at - 1}", f"x{at - 1}"], lambda x, y, at=at: calls.append(at) or x + y)
    assert sheet.get("x14") == 2**14
    assert len(calls) == 14
    sheet.get("x14")
    assert len(calls) == 14


def test_a_circle():
    sheet = Sheet()
    sheet.set_formula("a", ["b"], lambda b: b)
    sheet.set_formula("b", ["a"], lambda a: a)
    with pytest.raises(CycleError):
        sheet.get("a")
