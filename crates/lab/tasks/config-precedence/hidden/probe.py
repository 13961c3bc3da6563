def load(defaults, text, environment, *more):
    import settings
    before = repr((defaults, environment))
    try:
        loaded = settings.load(defaults, text, environment, *more)
    except settings.SettingsError as error:
        return {"error": str(error), "value_error": isinstance(error, ValueError)}
    same = before == repr((defaults, environment))
    kinds = {name: type(value).__name__ for name, value in loaded.values.items()}
    return {"values": loaded.values, "sources": loaded.sources, "same": same, "kinds": kinds}


def own_list():
    import settings
    hosts = ["a"]
    loaded = settings.load({"hosts": hosts}, "", {})
    loaded.values["hosts"].append("b")
    return hosts
