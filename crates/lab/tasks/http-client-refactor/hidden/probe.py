class Transport:
    def __init__(self, status=200, body="{}", late=False):
        self.status, self.body, self.late = status, body, late
        self.sent = []

    def send(self, endpoint, body, timeout):
        self.sent.append([endpoint, body, timeout])
        if self.late:
            raise TimeoutError("late")
        return self.status, self.body


CALLS = {
    "get_user": lambda client: client.get_user(7),
    "list_orders": lambda client: client.list_orders(7),
    "list_few": lambda client: client.list_orders(7, limit=3),
    "create_invoice": lambda client: client.create_invoice(7, 12),
    "delete_user": lambda client: client.delete_user(7),
    "request": lambda client: client.request("/x", {"b": 2, "a": [1, {"d": 1, "c": 2}]}),
    "nothing": lambda client: client.request("/x", None),
    "longer": lambda client: client.request("/x", {}, timeout=9),
}


def call(name, status, body, late):
    from client import Client
    transport = Transport(status, body, late)
    result = outcome(CALLS[name], Client(transport))
    return {"result": result, "sent": transport.sent}


def error(name, status, body, late):
    import client
    transport = Transport(status, body, late)
    try:
        CALLS[name](client.Client(transport))
    except client.ClientError as error:
        return [error.status, error.endpoint, isinstance(error, RuntimeError), len(transport.sent)]
    return "no ClientError"


def overridden(name):
    from client import Client

    class Watched(Client):
        def request(self, endpoint, data, timeout=5):
            seen.append([endpoint, data, timeout])
            return {"from": "override"}

    seen = []
    result = CALLS[name](Watched(None))
    return {"seen": seen, "result": result}


def places():
    import ast, client, inspect
    tree = ast.parse(inspect.getsource(client))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "send"]
    dumps = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in ("dumps", "loads")]
    arguments = str(inspect.signature(client.Client.request))
    return {"send": len(calls), "json": len(dumps), "signature": arguments}
