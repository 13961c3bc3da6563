import pytest

DEFAULTS = {"port": 80, "rate": 0.5, "debug": False, "host": "localhost", "tags": ["x"], "log.level": "info", "dry-run": True, "note": None}


def test_precedence_defaults(probe):
    found = probe("load", DEFAULTS, "", {})
    assert found["values"] == DEFAULTS and found["same"]
    assert set(found["sources"].values()) == {"default"} and set(found["sources"]) == set(DEFAULTS)


def test_precedence_all_three(probe):
    found = probe("load", DEFAULTS, "port=1\nhost = file\n", {"APP_HOST": "variable", "HOST": "no", "APP_OTHER": "1"})
    assert (found["values"]["port"], found["values"]["host"], found["values"]["rate"]) == (1, "variable", 0.5)
    assert (found["sources"]["port"], found["sources"]["host"], found["sources"]["rate"]) == ("file", "environment", "default")


def test_precedence_names_of_variables(probe):
    found = probe("load", DEFAULTS, "", {"X_LOG_LEVEL": "debug", "X_DRY_RUN": "off", "APP_PORT": "1"}, "X_")
    assert (found["values"]["log.level"], found["values"]["dry-run"], found["values"]["port"]) == ("debug", False, 80)


def test_precedence_empty_variable_and_last_line(probe):
    found = probe("load", DEFAULTS, "host = a\nhost = b\n", {"APP_HOST": ""})
    assert (found["values"]["host"], found["sources"]["host"]) == ("b", "file")


def test_types(probe):
    text = "port = 12\nrate = 3\ndebug = YES\ntags = a, b ,,c\nnote = 5\nlog.level = a # b = c\n\n  # comment\n"
    found = probe("load", DEFAULTS, text, {})
    assert found["values"] == {
        "port": 12, "rate": 3.0, "debug": True, "host": "localhost", "tags": ["a", "b", "c"],
        "log.level": "a # b = c", "dry-run": True, "note": "5",
    }
    assert (found["kinds"]["port"], found["kinds"]["rate"], found["kinds"]["debug"]) == ("int", "float", "bool")


@pytest.mark.parametrize("word,wanted", [("on", True), ("0", False), ("No", False), ("TRUE", True)])
def test_types_of_switches(probe, word, wanted):
    assert probe("load", DEFAULTS, "", {"APP_DEBUG": word})["values"]["debug"] is wanted


def test_types_lists_are_copied(probe):
    assert probe("own_list") == ["a"]
    assert probe("load", DEFAULTS, "tags =\n", {})["values"]["tags"] == []


def test_errors_in_the_file(probe):
    for text, words in [
        ("port = 1\n\nprot = 2\n", ["line 3", "prot"]),
        ("just words\n", ["line 1"]),
        ("port = eighty\n", ["line 1", "port", "eighty"]),
        ("# a\ndebug = maybe\n", ["line 2", "debug", "maybe"]),
    ]:
        found = probe("load", DEFAULTS, text, {})
        assert found.get("value_error") and all(word in found["error"] for word in words), (text, found)


def test_errors_in_the_environment(probe):
    found = probe("load", DEFAULTS, "", {"APP_PORT": "1.5"})
    assert all(word in found["error"] for word in ["APP_PORT", "port", "1.5"])
