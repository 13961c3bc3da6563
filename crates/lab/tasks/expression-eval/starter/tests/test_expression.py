import pytest

from expression import evaluate


def test_precedence():
    assert evaluate("2 + 3 * 4") == 14
    assert evaluate("(2 + 3) * 4") == 20


def test_signs():
    assert evaluate("2*-3") == -6


@pytest.mark.parametrize("text", ["", "2 +", "(1", "1 1"])
def test_refused(text):
    with pytest.raises(ValueError):
        evaluate(text)
