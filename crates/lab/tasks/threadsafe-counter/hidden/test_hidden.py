import pytest


def test_behaviour_one_thread(probe):
    found = probe("one_thread")
    assert found["said"] == [1, 5, -2, 0, 0.5, 5, 0, 5.5]
    assert found["first"] == {"a": 5, "b": 0, "c": 0.5}
    assert found["same"] and found["then"] == {"a": 1} and found["end"] == {}


def test_behaviour_counters_are_independent(probe):
    assert probe("independent") == {"reached": True, "first": 1, "second": 1}


@pytest.mark.parametrize("what,wanted", [("add", {"k": 16}), ("other_key", {"k": 15, "z": 1}), ("drain", {"k": 15})])
def test_threads_meet_in_the_middle(probe, what, wanted):
    assert probe("meets", what) == wanted


def test_threads_total_is_of_one_moment(probe):
    assert probe("total_is_of_one_moment") == 102


def test_threads_nothing_is_lost_under_load(probe):
    assert probe("stress", 6, 1500) == 9000
