import threading


class Meeting(int):
    """A number that lets another thread run while it is being added."""

    def __new__(cls, value, other):
        self = super().__new__(cls, value)
        self.other = other
        self.met = False
        return self

    def meet(self):
        if not self.met:
            self.met = True
            # With a lock the other one cannot finish before we do; it is not waited for long.
            self.other.start()
            self.other.join(0.4)

    def __add__(self, value):
        self.meet()
        return int(self) + value

    def __radd__(self, value):
        self.meet()
        return value + int(self)


def one_thread():
    from counter import KeyedCounter
    counter = KeyedCounter()
    said = [counter.add("a"), counter.add("a", 4), counter.add("b", -2), counter.add("b", 2), counter.add("c", 0.5)]
    said += [counter.value("a"), counter.value("x"), counter.total()]
    first = counter.drain()
    kept = dict(first)
    counter.add("a")
    return {"said": said, "first": first, "same": first == kept, "then": counter.drain(), "end": counter.drain()}


def meets(what):
    from counter import KeyedCounter
    counter = KeyedCounter()
    counter.add("k", 10)
    drained = []
    others = {
        "add": lambda: counter.add("k", 1),
        "other_key": lambda: counter.add("z", 1),
        "drain": lambda: drained.append(counter.drain()),
    }
    other = threading.Thread(target=others[what])
    counter.add("k", Meeting(5, other))
    other.join()
    last = counter.drain()
    sums = {}
    for part in drained + [last]:
        for key, value in part.items():
            sums[key] = sums.get(key, 0) + value
    return sums


def total_is_of_one_moment():
    from counter import KeyedCounter
    counter = KeyedCounter()

    class Moving(int):
        """A count that lets another thread move counts while the total is being made."""

        def __add__(self, value):
            move()
            return Moving(int(self) + value)

        __radd__ = __add__

    moved = []

    def move():
        if armed and not moved:
            moved.append(True)
            mover = threading.Thread(target=lambda: (counter.add("z", -100), counter.add("a", 100)))
            mover.start()
            mover.join(0.4)
            movers.append(mover)

    armed, movers = [], []
    counter.add("a", Moving(1))
    counter.add("m", 1)
    counter.add("z", 100)
    armed.append(True)
    total = counter.total()
    for mover in movers:
        mover.join()
    return total


def stress(threads, each):
    import sys
    from counter import KeyedCounter
    sys.setswitchinterval(1e-6)
    counter = KeyedCounter()
    drained = []
    done = threading.Event()

    def drain():
        while not done.is_set():
            drained.append(counter.drain())

    drainer = threading.Thread(target=drain)
    workers = [threading.Thread(target=lambda: [counter.add(at % 7) for at in range(each)]) for _ in range(threads)]
    for thread in [drainer] + workers:
        thread.start()
    for worker in workers:
        worker.join()
    done.set()
    drainer.join()
    drained.append(counter.drain())
    return sum(sum(part.values()) for part in drained)


def independent():
    from counter import KeyedCounter
    first, second = KeyedCounter(), KeyedCounter()
    reached = []
    other = threading.Thread(target=lambda: (second.add("k"), reached.append(True)))

    class Inside(int):
        def __add__(self, value):
            return self.wait(value)

        __radd__ = __add__

        def wait(self, value):
            if not other.ident:
                other.start()
                other.join(5)
            return int(self) + value

    first.add("k", Inside(1))
    return {"reached": bool(reached), "first": int(first.value("k")), "second": second.value("k")}
