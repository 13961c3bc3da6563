"""A client of the accounts service."""

import json


class ClientError(RuntimeError):
    """A request that did not go well; status 0: there was no answer in time."""

    def __init__(self, endpoint, status, reason):
        super().__init__(f"{endpoint}: {reason}")
        self.endpoint = endpoint
        self.status = status


class Client:
    def __init__(self, transport):
        self.transport = transport

    def request(self, endpoint, data, timeout=5):
        body = "" if data is None else json.dumps(data, sort_keys=True, separators=(",", ":"))
        try:
            status, answer = self.transport.send(endpoint, body, timeout)
        except TimeoutError as error:
            raise ClientError(endpoint, 0, "no answer in time") from error
        if status >= 400:
            raise ClientError(endpoint, status, f"status {status}")
        if not answer:
            return None
        try:
            return json.loads(answer)
        except ValueError as error:
            raise ClientError(endpoint, status, "the answer is not JSON") from error

    def get_user(self, id):
        return self.request(f"/users/{id}", None)

    def list_orders(self, user_id, limit=50):
        return self.request(f"/users/{user_id}/orders", {"limit": limit})

    def create_invoice(self, user_id, amount):
        return self.request("/invoices", {"user": user_id, "amount": amount}, timeout=30)

    def delete_user(self, id):
        self.request(f"/users/{id}/delete", None)
        return True
