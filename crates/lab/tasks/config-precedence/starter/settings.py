"""Settings from three places."""


class SettingsError(ValueError):
    pass


class Settings:
    def __init__(self, values, sources):
        self.values = values
        self.sources = sources


def load(defaults, text, environment, prefix="APP_"):
    values = defaults
    for name in defaults:
        if prefix + name.upper() in environment:
            values[name] = environment[prefix + name.upper()]
    for line in text.split("\n"):
        name, value = line.split("=")
        values[name] = value
    return Settings(values, {})
