"""Cells with values, and cells with formulas over other cells."""


class CycleError(ValueError):
    pass


class Sheet:
    def __init__(self):
        self.values = {}
        self.formulas = {}

    def set_value(self, name, value):
        self.formulas.pop(name, None)
        self.values[name] = value

    def set_formula(self, name, inputs, function):
        self.values.pop(name, None)
        self.formulas[name] = (list(inputs), function)

    def get(self, name):
        if name in self.values:
            return self.values[name]
        inputs, function = self.formulas[name]
        return function(*[self.get(each) for each in inputs])
