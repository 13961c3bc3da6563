"""Cells with values, and cells with formulas over other cells.

Every set begins a new turn. A cell that was looked at in this turn is known to be right; one that was not is right if the inputs that
it was last computed from are the same values still. Nobody is told of a change: who is asked looks, so that setting costs nothing.
"""


class CycleError(ValueError):
    """Cells that need each other in a circle."""


class Cell:
    def __init__(self, inputs=(), function=None, value=None):
        self.inputs = list(inputs)
        self.function = function
        self.value = value
        # What it was computed from; none: it was not computed yet.
        self.arguments = None
        self.looked = -1


class Sheet:
    def __init__(self):
        self._cells = {}
        self._turn = 0

    def set_value(self, name, value):
        self._turn += 1
        self._cells[name] = Cell(value=value)

    def set_formula(self, name, inputs, function):
        self._turn += 1
        self._cells[name] = Cell(inputs, function)

    def get(self, name):
        stack, entered = [name], set()
        while stack:
            at = stack[-1]
            cell = self._cells[at]
            if cell.function is None or cell.looked == self._turn:
                stack.pop()
                continue
            if at not in entered:
                entered.add(at)
                for each in cell.inputs:
                    needed = self._cells[each]
                    if needed.function is None or needed.looked == self._turn:
                        continue
                    if each in entered:
                        raise CycleError(f"{each!r} needs itself")
                    stack.append(each)
                continue
            self._settle(cell)
            stack.pop()
        return self._cells[name].value

    def _settle(self, cell):
        inputs = [self._cells[each] for each in cell.inputs]
        if any(each.function is not None and each.looked != self._turn for each in inputs):
            raise CycleError("a cell needs itself")
        arguments = [each.value for each in inputs]
        if cell.arguments is None or any(old != new for old, new in zip(cell.arguments, arguments)):
            cell.value = cell.function(*arguments)
            cell.arguments = arguments
        cell.looked = self._turn
