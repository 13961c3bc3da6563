import pytest


@pytest.mark.parametrize(
    "text,value,kind",
    [
        ("2+3*4", 14, "int"),
        ("2 * 3 + 4", 10, "int"),
        ("10 - 4 - 3", 3, "int"),
        ("16 / 4 / 2", 2.0, "float"),
        ("(1 + 2) * (3 + 4)", 21, "int"),
        ("-2 * 3", -6, "int"),
        ("--2", 2, "int"),
        ("2 - -3", 5, "int"),
        ("-(2 + 3) * +2", -10, "int"),
        (".5 + 2.", 2.5, "float"),
        ("\t7 ", 7, "int"),
        ("(" * 100 + "1" + ")" * 100, 1, "int"),
    ],
)
def test_arithmetic(probe, text, value, kind):
    assert probe("evaluate", text) == {"value": value, "kind": kind}


@pytest.mark.parametrize(
    "text",
    ["", "   ", "2 3", "2(3)", "2 +", "* 2", "(1", "1)", "()", "2 ** 3", "7 // 2", "1 / 0"],
)
def test_refusals(probe, text):
    assert "ValueError" in probe("evaluate", text).get("raised", []), text


def test_refusals_of_names_and_python(probe):
    for text in ["x", "1e5", "1_000", "1 . 5", "1.2.3", ".", "__import__('os')", "2 if 1 else 3", "１"]:
        assert "ValueError" in probe("evaluate", text).get("raised", []), text
    assert not {"eval", "exec", "ast", "compile", "__import__"} & set(probe("names"))
