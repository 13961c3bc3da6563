import pytest

from settings import SettingsError, load

DEFAULTS = {"port": 80, "debug": False, "host": "localhost"}


def test_precedence():
    settings = load(DEFAULTS, "port = 8080\nhost = a\n", {"APP_HOST": "b"})
    assert settings.values == {"port": 8080, "debug": False, "host": "b"}
    assert settings.sources == {"port": "file", "debug": "default", "host": "environment"}


def test_unknown_name():
    with pytest.raises(SettingsError, match="line 2.*prot"):
        load(DEFAULTS, "# ports\nprot = 1\n", {})
