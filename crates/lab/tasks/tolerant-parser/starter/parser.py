"""A parser of a small language. It stops at the first mistake."""

import re

TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|\"([^\"]*)\"|([-+=;(){}]))")


def parse(text):
    tokens = []
    at = 0
    while text[at:].strip():
        match = TOKEN.match(text, at)
        if not match:
            return [], [(1, at + 1, "unexpected character")]
        tokens.append(match)
        at = match.end()
    statements = []
    place = 0
    while place < len(tokens):
        word = tokens[place].group(2)
        if word != "print" or place + 2 >= len(tokens):
            return statements, [(1, tokens[place].start() + 1, "unexpected token")]
        number = tokens[place + 1].group(1)
        statements.append(["print", ["number", int(number)]])
        place += 3
    return statements, []
