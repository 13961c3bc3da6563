from parser import parse


def places(text):
    return [error[:2] for error in parse(text)[1]]


def test_a_program():
    text = 'let x = 1 + (y - 2);\nif x { print "hi"; }\n'
    statements, errors = parse(text)
    assert errors == []
    assert statements == [
        ["let", "x", ["+", ["number", 1], ["-", ["name", "y"], ["number", 2]]]],
        ["if", ["name", "x"], [["print", ["string", "hi"]]]],
    ]


def test_it_goes_on():
    statements, errors = parse("let = 1;\nprint 2;\n")
    assert statements == [["print", ["number", 2]]]
    assert [error[:2] for error in errors] == [(1, 5)]


def test_a_missing_semicolon():
    assert parse("print 1 print 2;")[0] == [["print", ["number", 1]], ["print", ["number", 2]]]
    assert places("print 1 print 2;") == [(1, 9)]
