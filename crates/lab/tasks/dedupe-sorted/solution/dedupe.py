"""Duplicates in sorted items: each is compared with the last that was kept."""


def dedupe(items):
    result = []
    for item in items:
        if not result or result[-1] != item:
            result.append(item)
    return result
