def parse(text):
    import parser
    result = parser.parse(text)
    statements, errors = result
    kinds = all(isinstance(error[2], str) and error[2] for error in errors)
    return {"statements": statements, "places": [[error[0], error[1]] for error in errors], "messages": kinds}


def deep(kind, depth):
    import parser
    texts = {
        "parentheses": "print " + "(" * depth + "1" + ")" * depth + ";",
        "blocks": "if x { " * depth + "print 1;" + " }" * depth,
        "open": "if x { " * depth,
        "unbalanced": "print " + "(" * depth + ";",
        "long": "print 1" + " + 1" * (depth * 10) + ";",
    }
    statements, errors = parser.parse(texts[kind])
    return {"statements": len(statements), "errors": len(errors)}
