import asyncio


class Loader:
    def __init__(self):
        self.calls = []
        self.cancelled = 0

    async def __call__(self, key):
        future = asyncio.get_running_loop().create_future()
        self.calls.append((key, future))
        try:
            return await future
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    def end(self, at, value):
        self.calls[at][1].set_result(value)

    def fail(self, at, text):
        self.calls[at][1].set_exception(LookupError(text))


async def settle():
    for _ in range(12):
        await asyncio.sleep(0)


def play(steps):
    """Plays steps, each to its end before the next, and gives what happened."""

    async def scene():
        from single_flight import SingleFlight
        loader = Loader()
        flight = SingleFlight(loader)
        callers, said = {}, []
        for name, *arguments in steps:
            if name == "ask":
                caller, key = arguments
                callers[caller] = asyncio.ensure_future(flight.get(key))
            elif name == "cancel":
                callers[arguments[0]].cancel()
            elif name == "end":
                loader.end(*arguments)
            elif name == "fail":
                loader.fail(*arguments)
            elif name == "invalidate":
                flight.invalidate(arguments[0])
            elif name == "cached":
                said.append(flight.cached(arguments[0]))
            elif name == "loads":
                said.append([key for key, _ in loader.calls])
            elif name == "cancelled":
                said.append(loader.cancelled)
            # Not after invalidating: what follows at once must be right too.
            if name != "invalidate":
                await settle()
        ends = {}
        for caller, task in callers.items():
            if not task.done():
                ends[caller] = "waits"
                task.cancel()
            elif task.cancelled():
                ends[caller] = "cancelled"
            elif task.exception():
                ends[caller] = f"{type(task.exception()).__name__}: {task.exception()}"
            else:
                ends[caller] = task.result()
        return {"ends": ends, "said": said}

    return asyncio.run(scene())


def patience():
    """`wait_for` that runs out on the caller that began the load."""

    async def scene():
        from single_flight import SingleFlight
        loader = Loader()
        flight = SingleFlight(loader)
        # The clock stands still until both callers wait: a busy machine must not end the first one early.
        loop = asyncio.get_running_loop()
        began = loop.time()
        loop.time = lambda: began
        first = asyncio.ensure_future(asyncio.wait_for(flight.get("a"), 0.02))
        await settle()
        second = asyncio.ensure_future(flight.get("a"))
        await settle()
        del loop.time
        await asyncio.wait([first], timeout=30)
        late = first.done() and isinstance(first.exception(), asyncio.TimeoutError)
        loader.end(0, 5)
        return {"late": late, "second": await second, "loads": len(loader.calls), "cancelled": loader.cancelled}

    return asyncio.run(scene())


def left_behind(rounds):
    """What is kept after many loads that ended in every way, beside the values."""

    async def scene():
        from single_flight import SingleFlight
        loader = Loader()
        flight = SingleFlight(loader)
        for at in range(rounds):
            task = asyncio.ensure_future(flight.get(at))
            await settle()
            if at % 3 == 0:
                loader.end(len(loader.calls) - 1, at)
            elif at % 3 == 1:
                loader.fail(len(loader.calls) - 1, "x")
            else:
                task.cancel()
            await settle()
            await asyncio.gather(task, return_exceptions=True)
            flight.invalidate(at)
        sizes = [len(value) for value in vars(flight).values() if hasattr(value, "__len__")]
        return {"kept": sum(sizes), "tasks": len(asyncio.all_tasks()) - 1}

    return asyncio.run(scene())
