import pytest


def test_interface_endpoints_and_data(probe):
    def sent(name):
        return probe("call", name, 200, "{}", False)["sent"]

    assert sent("get_user") == [["/users/7", "", 5]]
    assert sent("list_orders") == [["/users/7/orders", '{"limit":50}', 5]]
    assert sent("list_few") == [["/users/7/orders", '{"limit":3}', 5]]
    assert sent("create_invoice") == [["/invoices", '{"amount":12,"user":7}', 30]]
    assert sent("delete_user") == [["/users/7/delete", "", 5]]


def test_interface_answers(probe):
    assert probe("call", "get_user", 200, '{"name":"Ada"}', False)["result"] == {"value": {"name": "Ada"}}
    assert probe("call", "list_orders", 200, "[1,2]", False)["result"] == {"value": [1, 2]}
    assert probe("call", "delete_user", 204, "", False)["result"] == {"value": True}
    assert probe("call", "nothing", 204, "", False)["result"] == {"value": None}


def test_interface_request(probe):
    assert probe("call", "request", 200, "{}", False)["sent"] == [["/x", '{"a":[1,{"c":2,"d":1}],"b":2}', 5]]
    assert probe("call", "longer", 200, "{}", False)["sent"] == [["/x", "{}", 9]]


def test_shape_one_place_sends(probe):
    places = probe("places")
    assert places["send"] == 1
    assert places["json"] <= 2
    assert "timeout=5" in places["signature"]


def test_shape_all_go_through_request(probe):
    assert probe("overridden", "get_user") == {"seen": [["/users/7", None, 5]], "result": {"from": "override"}}
    assert probe("overridden", "list_few")["seen"] == [["/users/7/orders", {"limit": 3}, 5]]
    assert probe("overridden", "create_invoice")["seen"] == [["/invoices", {"user": 7, "amount": 12}, 30]]
    assert probe("overridden", "delete_user") == {"seen": [["/users/7/delete", None, 5]], "result": True}


@pytest.mark.parametrize("name,endpoint", [("get_user", "/users/7"), ("create_invoice", "/invoices")])
def test_errors_by_status(probe, name, endpoint):
    assert probe("error", name, 404, "{}", False) == [404, endpoint, True, 1]
    assert probe("error", name, 500, "", False) == [500, endpoint, True, 1]


def test_errors_late(probe):
    assert probe("error", "create_invoice", 200, "{}", True) == [0, "/invoices", True, 1]


def test_errors_no_json(probe):
    assert probe("error", "get_user", 200, "<html>", False) == [200, "/users/7", True, 1]
