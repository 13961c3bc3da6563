def play(capacity, calls):
    """Plays calls and gives what each said, and the entries at the end."""
    from lru import LruCache
    cache = LruCache(capacity)
    said = []
    for name, *arguments in calls:
        if name == "in":
            said.append(arguments[0] in cache)
        elif name == "len":
            said.append(len(cache))
        elif name == "items":
            said.append([list(item) for item in cache.items()])
        else:
            said.append(getattr(cache, name)(*arguments))
    return {"said": said, "items": [list(item) for item in cache.items()]}


def make(capacity):
    from lru import LruCache
    return outcome(lambda: len(LruCache(capacity)))


def own_list():
    from lru import LruCache
    cache = LruCache(2)
    cache.put("a", 1)
    items = cache.items()
    kind = type(items) is list and all(type(item) is tuple for item in items)
    items.clear()
    return {"kind": kind, "length": len(cache)}


def cost(count):
    from lru import LruCache

    class Key:
        compared = 0

        def __init__(self, value):
            self.value = value

        def __hash__(self):
            return hash(self.value)

        def __eq__(self, other):
            Key.compared += 1
            return isinstance(other, Key) and self.value == other.value

    cache = LruCache(count)
    for at in range(count):
        cache.put(Key(at), at)
    for at in range(count):
        cache.get(Key(at * 7 % count))
    for at in range(count):
        cache.put(Key(count + at), at)
    return {"length": len(cache), "compared": Key.compared}
