"""Arithmetic in text: a reader of tokens, and one function for each strength of operators."""

import re

TOKEN = re.compile(r"[ \t]*(?:([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)|([-+*/()]))")


def evaluate(text):
    return Reader(text).whole()


class Reader:
    def __init__(self, text):
        self.tokens = []
        text = text.rstrip(" \t")
        at = 0
        while at < len(text):
            match = TOKEN.match(text, at)
            if not match:
                raise ValueError(f"unexpected {text[at:at + 10]!r}")
            number, sign = match.groups()
            self.tokens.append((float(number) if "." in number else int(number)) if number else sign)
            at = match.end()
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self):
        token = self.peek()
        self.at += 1
        return token

    def whole(self):
        result = self.sum()
        if self.peek() is not None:
            raise ValueError(f"unexpected {self.peek()!r}")
        return result

    def sum(self):
        result = self.product()
        while self.peek() in ("+", "-"):
            if self.take() == "+":
                result = result + self.product()
            else:
                result = result - self.product()
        return result

    def product(self):
        result = self.operand()
        while self.peek() in ("*", "/"):
            if self.take() == "*":
                result = result * self.operand()
                continue
            divisor = self.operand()
            if divisor == 0:
                raise ValueError("division by zero")
            result = result / divisor
        return result

    def operand(self):
        token = self.take()
        if token == "-":
            return -self.operand()
        if token == "+":
            return self.operand()
        if token == "(":
            result = self.sum()
            if self.take() != ")":
                raise ValueError("a parenthesis is not closed")
            return result
        if token is None or isinstance(token, str):
            raise ValueError(f"an operand is missing before {token!r}")
        return token
