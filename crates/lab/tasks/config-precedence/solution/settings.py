"""Settings from three places: defaults, a file, the environment. The later ones are stronger."""

import copy

SWITCHES = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


class SettingsError(ValueError):
    """A setting that cannot be used; the message names it and its place."""


class Settings:
    def __init__(self, values, sources):
        self.values = values
        self.sources = sources


def load(defaults, text, environment, prefix="APP_"):
    values = copy.deepcopy(defaults)
    sources = {name: "default" for name in defaults}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        place = f"line {number}"
        name, equals, value = line.partition("=")
        name = name.strip()
        if not equals or not name:
            raise SettingsError(f"{place}: `{line}` is not `name = value`")
        if name not in defaults:
            raise SettingsError(f"{place}: there is no setting `{name}`")
        values[name] = convert(name, value.strip(), defaults[name], place)
        sources[name] = "file"
    for name, default in defaults.items():
        variable = prefix + name.upper().replace("-", "_").replace(".", "_")
        value = environment.get(variable, "")
        if value:
            values[name] = convert(name, value, default, variable)
            sources[name] = "environment"
    return Settings(values, sources)


def convert(name, value, default, place):
    wrong = SettingsError(f"{place}: `{value}` is no value for `{name}`")
    # A bool is an int, so it is looked at first.
    if isinstance(default, bool):
        if value.lower() not in SWITCHES:
            raise wrong
        return SWITCHES[value.lower()]
    if isinstance(default, (int, float)):
        try:
            return type(default)(value)
        except ValueError:
            raise wrong from None
    if isinstance(default, list):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value
