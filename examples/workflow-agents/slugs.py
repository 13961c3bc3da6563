def slug(title):
    """A title as part of an address: lower case, words joined by single hyphens."""
    return title.lower().replace(" ", "-")
