"""A parser of a small language that reports every mistake once and goes on.

Nothing calls itself: blocks and parentheses stand on stacks, so that no text is too deep.
"""

import re

TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n]+|\#[^\n]*)|(?P<number>[0-9]+)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<string>"[^"\n]*"?)|(?P<mark>[-+=;(){}])|(?P<odd>.)""",
    re.VERBOSE | re.DOTALL,
)
STARTERS = ("let", "print", "if")
END = "end"


class Token:
    def __init__(self, kind, text, line, column):
        self.kind, self.text, self.line, self.column = kind, text, line, column

    def starts(self):
        return self.kind == "word" and self.text in STARTERS

    def is_mark(self, text):
        return self.kind == "mark" and self.text == text


class Wrong(Exception):
    """The token that stands here cannot be here."""


def parse(text):
    return Parser(text).whole()


class Parser:
    def __init__(self, text):
        self.errors = []
        self.tokens = []
        self.at = 0
        self.read(text)

    def read(self, text):
        line, start, at, odd_end = 1, 0, 0, -1
        while at < len(text):
            match = TOKEN.match(text, at)
            kind, piece, column = match.lastgroup, match.group(), at - start + 1
            if kind == "odd":
                if odd_end != at:
                    self.error(Token(kind, piece, line, column), f"unexpected character {piece!r}")
                odd_end = match.end()
            elif kind != "blank":
                token = Token(kind, piece, line, column)
                if kind == "string" and (len(piece) == 1 or not piece.endswith('"')):
                    self.error(token, "the string is not closed")
                self.tokens.append(token)
            newlines = piece.count("\n")
            if newlines:
                line += newlines
                start = at + piece.rindex("\n") + 1
            at = match.end()
        self.tokens.append(Token(END, "the end", line, len(text) - start + 1))

    def error(self, token, message):
        self.errors.append((token.line, token.column, message))

    def peek(self):
        return self.tokens[self.at]

    def take(self):
        token = self.tokens[self.at]
        if token.kind != END:
            self.at += 1
        return token

    def expect(self, mark):
        if not self.peek().is_mark(mark):
            raise Wrong(f"expected `{mark}`")
        return self.take()

    def whole(self):
        top = []
        open_blocks = [top]
        while True:
            token = self.peek()
            if token.kind == END:
                if len(open_blocks) > 1:
                    self.error(token, "a block is not closed")
                break
            if token.is_mark("}"):
                self.take()
                if len(open_blocks) > 1:
                    open_blocks.pop()
                else:
                    self.error(token, "nothing is open that this could close")
                continue
            try:
                statement = self.statement()
            except Wrong as wrong:
                self.error(self.peek(), str(wrong))
                self.skip()
                continue
            open_blocks[-1].append(statement)
            if statement[0] == "if":
                open_blocks.append(statement[2])
        self.errors.sort(key=lambda error: error[:2])
        return top, self.errors

    def statement(self):
        """One statement; of an `if` only its beginning, up to the `{`."""
        token = self.peek()
        if not token.starts():
            raise Wrong("expected a statement")
        self.take()
        if token.text == "if":
            condition = self.expression()
            self.expect("{")
            return ["if", condition, []]
        if token.text == "let":
            name = self.peek()
            if name.kind != "word" or name.starts():
                raise Wrong("expected a name")
            self.take()
            self.expect("=")
            statement = ["let", name.text, self.expression()]
        else:
            statement = ["print", self.expression()]
        following = self.peek()
        if following.is_mark(";"):
            self.take()
        elif following.starts() or following.is_mark("}") or following.kind == END:
            self.error(following, "expected `;`")
        else:
            raise Wrong("expected `;`")
        return statement

    def expression(self):
        # What is open: the sum so far and the operator behind it, one for each parenthesis.
        waiting = []
        left = operator = None
        while True:
            token = self.peek()
            if token.is_mark("("):
                self.take()
                waiting.append((left, operator))
                left = operator = None
                continue
            operand = self.operand(token)
            while True:
                left = operand if operator is None else [operator, left, operand]
                token = self.peek()
                if not (waiting and token.is_mark(")")):
                    break
                self.take()
                operand = left
                left, operator = waiting.pop()
            if not (token.is_mark("+") or token.is_mark("-")):
                if waiting:
                    raise Wrong("expected `)`")
                return left
            operator = self.take().text

    def operand(self, token):
        if token.kind == "number":
            value = ["number", int(token.text)]
        elif token.kind == "string":
            closed = len(token.text) > 1 and token.text.endswith('"')
            value = ["string", token.text[1:-1] if closed else token.text[1:]]
        elif token.kind == "word" and not token.starts():
            value = ["name", token.text]
        else:
            raise Wrong("expected an operand")
        self.take()
        return value

    def skip(self):
        """Goes on behind a mistake: to where the next statement may begin."""
        while True:
            token = self.peek()
            if token.kind == END or token.is_mark("}") or token.starts():
                return
            self.take()
            if token.is_mark(";"):
                return
            if token.is_mark("{"):
                self.skip_block()
                return

    def skip_block(self):
        depth = 1
        while depth and self.peek().kind != END:
            token = self.take()
            depth += token.is_mark("{") - token.is_mark("}")
