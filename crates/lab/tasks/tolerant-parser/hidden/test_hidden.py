import pytest


def number(value):
    return ["number", value]


PRINT_1, PRINT_2 = ["print", number(1)], ["print", number(2)]


def test_trees_of_statements(probe):
    found = probe("parse", 'let a_1 = "x y"; # note ; }\nprint a_1;\tif(a_1){let b=2;}')
    assert found["places"] == []
    assert found["statements"] == [
        ["let", "a_1", ["string", "x y"]],
        ["print", ["name", "a_1"]],
        ["if", ["name", "a_1"], [["let", "b", number(2)]]],
    ]


def test_trees_left_to_right(probe):
    found = probe("parse", "print 1 - 2 + 3;")
    assert found["statements"] == [["print", ["+", ["-", number(1), number(2)], number(3)]]]
    assert probe("parse", "print 1 - (2 + 3);")["statements"] == [["print", ["-", number(1), ["+", number(2), number(3)]]]]


def test_trees_nested_and_empty(probe):
    assert probe("parse", "") == {"statements": [], "places": [], "messages": True}
    assert probe("parse", "if a { if b { } print 1; }")["statements"] == [["if", ["name", "a"], [["if", ["name", "b"], []], PRINT_1]]]
    assert probe("parse", "let letter = 007;")["statements"] == [["let", "letter", number(7)]]


@pytest.mark.parametrize(
    "text,places",
    [
        ("print ;", [[1, 7]]),
        ("\n\n  print + 1;", [[3, 9]]),
        ("print 1", [[1, 8]]),
        ("print 1\n", [[2, 1]]),
        ('print "é" 2;', [[1, 11]]),
        ("let let = 1;", [[1, 5], [1, 9]]),
    ],
)
def test_places(probe, text, places):
    found = probe("parse", text)
    assert found["places"] == places and found["messages"]


@pytest.mark.parametrize(
    "text,statements,places",
    [
        # One error a statement, and on with the next.
        ("let = 1; print 2;", [PRINT_2], [[1, 5]]),
        ("let x 1 + ; print ) ) ; print 2;", [PRINT_2], [[1, 7], [1, 19]]),
        ("let x = print 2;", [PRINT_2], [[1, 9]]),
        ("let x = ( 1 ; print 2;", [PRINT_2], [[1, 13]]),
        # A semicolon that is missing.
        ("if a { print 1 } print 2", [["if", ["name", "a"], [PRINT_1]], PRINT_2], [[1, 16], [1, 25]]),
        # Blocks that are not closed, and what closes nothing.
        ("if a { if b { print 1;", [["if", ["name", "a"], [["if", ["name", "b"], [PRINT_1]]]]], [[1, 23]]),
        ("} print 1; } } print 2;", [PRINT_1, PRINT_2], [[1, 1], [1, 12], [1, 14]]),
        # Characters that begin nothing.
        ("print @@ 1; print 2 $;", [PRINT_1, PRINT_2], [[1, 7], [1, 21]]),
        ('print "abc\nprint 2;', [["print", ["string", "abc"]], PRINT_2], [[1, 7], [2, 1]]),
        # Inside a block only the statement is dropped.
        ("if a { let = 1; print 1; } print 2;", [["if", ["name", "a"], [PRINT_1]], PRINT_2], [[1, 12]]),
        ("if a { let } print 2;", [["if", ["name", "a"], []], PRINT_2], [[1, 12]]),
        # A block on the way is skipped as a whole.
        ("if + { print 1; print ; } print 2;", [PRINT_2], [[1, 4]]),
        ("if a { if + { } } print 2;", [["if", ["name", "a"], []], PRINT_2], [[1, 11]]),
    ],
)
def test_recovery(probe, text, statements, places):
    found = probe("parse", text)
    assert (found["statements"], found["places"]) == (statements, places)


def test_recovery_however_deep(probe):
    assert probe("deep", "parentheses", 1000) == {"statements": 1, "errors": 0}
    assert probe("deep", "open", 1000) == {"statements": 1, "errors": 1}
    assert probe("deep", "unbalanced", 1000) == {"statements": 0, "errors": 1}
    assert probe("deep", "blocks", 1000) == {"statements": 1, "errors": 0}
    assert probe("deep", "long", 1000) == {"statements": 1, "errors": 0}


def test_recovery_of_any_text(probe):
    for text in ['"', "#", "(((", "if", "let x", "\x00", "if {", "}{", "if a }", "print 1; }; print 2;"]:
        found = probe("parse", text)
        assert found["places"] or text == "#", text
