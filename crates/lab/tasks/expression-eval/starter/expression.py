"""Arithmetic in text."""


def evaluate(text):
    parts = text.split()
    result = float(parts[0])
    for at in range(1, len(parts), 2):
        operator, operand = parts[at], float(parts[at + 1])
        if operator == "+":
            result = result + operand
        elif operator == "-":
            result = result - operand
        elif operator == "*":
            result = result * operand
        else:
            result = result / operand
    return result
