def test_sharing_one_load(probe):
    found = probe("play", [["ask", "p", "a"], ["ask", "q", "a"], ["ask", "r", "a"], ["loads"], ["end", 0, 1], ["ask", "s", "a"], ["loads"]])
    assert found == {"ends": {"p": 1, "q": 1, "r": 1, "s": 1}, "said": [["a"], ["a"]]}


def test_sharing_keys_run_at_the_same_time(probe):
    found = probe("play", [["ask", "p", "a"], ["ask", "q", "b"], ["loads"], ["end", 1, 2], ["cached", "b"], ["cached", "a"], ["end", 0, 1]])
    assert found == {"ends": {"p": 1, "q": 2}, "said": [["a", "b"], True, False]}


def test_sharing_none_is_a_value(probe):
    found = probe("play", [["ask", "p", "a"], ["end", 0, None], ["cached", "a"], ["ask", "q", "a"], ["loads"]])
    assert found == {"ends": {"p": None, "q": None}, "said": [True, ["a"]]}


def test_failures_reach_everybody(probe):
    found = probe("play", [["ask", "p", "a"], ["ask", "q", "a"], ["fail", 0, "gone"], ["cached", "a"], ["loads"]])
    assert found["ends"] == {"p": "LookupError: gone", "q": "LookupError: gone"}
    assert found["said"] == [False, ["a"]]


def test_failures_are_not_kept(probe):
    found = probe("play", [["ask", "p", "a"], ["fail", 0, "gone"], ["ask", "q", "a"], ["loads"], ["end", 1, 3]])
    assert found == {"ends": {"p": "LookupError: gone", "q": 3}, "said": [["a", "a"]]}


def test_cancelling_the_first_leaves_the_others(probe):
    found = probe("play", [["ask", "p", "a"], ["ask", "q", "a"], ["cancel", "p"], ["cancelled"], ["end", 0, 4], ["cached", "a"], ["loads"]])
    assert found == {"ends": {"p": "cancelled", "q": 4}, "said": [0, True, ["a"]]}


def test_cancelling_the_last_ends_the_load(probe):
    found = probe("play", [["ask", "p", "a"], ["ask", "q", "a"], ["cancel", "q"], ["cancel", "p"], ["cancelled"], ["cached", "a"], ["ask", "r", "a"], ["loads"], ["end", 1, 6]])
    assert found == {"ends": {"p": "cancelled", "q": "cancelled", "r": 6}, "said": [1, False, ["a", "a"]]}


def test_cancelling_by_patience(probe):
    assert probe("patience") == {"late": True, "second": 5, "loads": 1, "cancelled": 0}


def test_invalidating_what_is_kept(probe):
    found = probe("play", [["invalidate", "z"], ["ask", "p", "a"], ["end", 0, 1], ["invalidate", "a"], ["cached", "a"], ["ask", "q", "a"], ["loads"], ["end", 1, 2]])
    assert found == {"ends": {"p": 1, "q": 2}, "said": [False, ["a", "a"]]}


def test_invalidating_on_the_way(probe):
    steps = [["ask", "p", "a"], ["invalidate", "a"], ["ask", "q", "a"], ["loads"], ["end", 0, "old"], ["cached", "a"], ["ask", "r", "a"], ["loads"], ["end", 1, "new"], ["cached", "a"], ["ask", "s", "a"], ["loads"]]
    found = probe("play", steps)
    assert found["ends"] == {"p": "old", "q": "new", "r": "new", "s": "new"}
    assert found["said"] == [["a", "a"], False, ["a", "a"], True, ["a", "a"]]


def test_invalidating_the_old_ends_last(probe):
    steps = [["ask", "p", "a"], ["invalidate", "a"], ["ask", "q", "a"], ["end", 1, "new"], ["cached", "a"], ["end", 0, "old"], ["ask", "r", "a"], ["loads"]]
    found = probe("play", steps)
    assert found == {"ends": {"p": "old", "q": "new", "r": "new"}, "said": [True, ["a", "a"]]}
    steps = [["ask", "p", "a"], ["invalidate", "a"], ["ask", "q", "a"], ["fail", 0, "old"], ["ask", "r", "a"], ["loads"], ["end", 1, "new"]]
    found = probe("play", steps)
    assert found == {"ends": {"p": "LookupError: old", "q": "new", "r": "new"}, "said": [["a", "a"]]}


def test_invalidating_nothing_is_left_behind(probe):
    assert probe("left_behind", 30) == {"kept": 0, "tasks": 0}
