FUNCTIONS = {
    "sum": lambda *values: sum(values),
    "parity": lambda value: value % 2,
    "divide": lambda a, b: a / b,
    "negative": lambda value: -value,
}


def play(steps):
    """Plays steps on a sheet; gives what each `get` said and which formulas it called."""
    from sheet import Sheet
    sheet = Sheet()
    calls, said = [], []

    def formula(name, kind):
        def call(*values):
            calls.append(name)
            return FUNCTIONS[kind](*values)

        return call

    for what, name, *rest in steps:
        if what == "value":
            sheet.set_value(name, rest[0])
        elif what == "formula":
            sheet.set_formula(name, rest[0], formula(name, rest[1]))
        else:
            calls.clear()
            result = outcome(sheet.get, name)
            result.pop("message", None)
            said.append([result, sorted(calls)])
    return said


def missing():
    from sheet import Sheet
    sheet = Sheet()
    sheet.set_formula("b", ["nowhere"], lambda value: value)
    names = []
    for cell in ("nothing", "b"):
        try:
            sheet.get(cell)
        except KeyError as error:
            names.append(error.args[0])
    sheet.set_value("nowhere", 4)
    return {"names": names, "then": sheet.get("b")}


def chain(length):
    from sheet import Sheet
    sheet = Sheet()
    calls = [0]

    def step(value):
        calls[0] += 1
        return value + 1

    sheet.set_value(0, 0)
    for at in range(1, length + 1):
        sheet.set_formula(at, [at - 1], step)
    first = sheet.get(length)
    counted = [calls[0]]
    sheet.set_value(0, 5)
    second = sheet.get(length)
    counted.append(calls[0] - counted[0])
    return {"values": [first, second], "calls": counted}


def circle(length):
    from sheet import Sheet
    sheet = Sheet()
    for at in range(length):
        sheet.set_formula(at, [(at + 1) % length], lambda value: value)
    return outcome(sheet.get, 0).get("raised")


def fan(count, rounds):
    """Sets a cell that many build on, often, and gets one of them: counts looks at the values."""
    from sheet import Sheet

    class Value:
        looked = 0

        def __init__(self, number):
            self.number = number

        def __eq__(self, other):
            Value.looked += 1
            return isinstance(other, Value) and self.number == other.number

        def __ne__(self, other):
            return not self == other

        __hash__ = None

    sheet = Sheet()
    calls = [0]

    def formula(value):
        calls[0] += 1
        return value.number

    sheet.set_value("source", Value(0))
    for at in range(count):
        sheet.set_formula(at, ["source"], formula)
        sheet.get(at)
    calls[0] = Value.looked = 0
    for at in range(rounds):
        sheet.set_value("source", Value(at + 1))
        assert sheet.get(at % count) == at + 1
    return {"calls": calls[0], "looked": Value.looked}
