from client import Client


class Transport:
    def __init__(self, status=200, body="{}"):
        self.answer = (status, body)
        self.sent = []

    def send(self, endpoint, body, timeout):
        self.sent.append((endpoint, body, timeout))
        return self.answer


def test_request_is_there():
    transport = Transport(body='{"name":"Ada"}')
    assert Client(transport).request("/users/7", None) == {"name": "Ada"}
    assert transport.sent == [("/users/7", "", 5)]


def test_invoices_are_written_the_same_way():
    transport = Transport()
    Client(transport).create_invoice(7, 12)
    assert transport.sent == [("/invoices", '{"amount":12,"user":7}', 30)]
