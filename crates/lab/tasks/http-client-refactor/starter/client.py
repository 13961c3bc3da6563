"""A client of the accounts service."""

import json


class Client:
    def __init__(self, transport):
        self.transport = transport

    def get_user(self, id):
        status, body = self.transport.send(f"/users/{id}", "", 5)
        if status != 200:
            return None
        return json.loads(body)

    def list_orders(self, user_id, limit=50):
        text = json.dumps({"limit": limit})
        status, body = self.transport.send(f"/users/{user_id}/orders", text, 10)
        if status >= 400:
            raise RuntimeError("orders: " + str(status))
        return json.loads(body)

    def create_invoice(self, user_id, amount):
        text = json.dumps({"user": user_id, "amount": amount})
        try:
            status, body = self.transport.send("/invoices", text, 30)
        except TimeoutError:
            status, body = self.transport.send("/invoices", text, 30)
        if status >= 500:
            raise RuntimeError("invoices are down")
        return json.loads(body)

    def delete_user(self, id):
        status, body = self.transport.send(f"/users/{id}/delete", "", 1)
        return status == 200
