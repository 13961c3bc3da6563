"""Figures of a sample of measurements."""

import math


def summary(values):
    ordered = sorted(values)
    count = len(ordered)
    if count == 0:
        raise ValueError("a summary needs at least one value")
    mean = math.fsum(ordered) / count
    middle = count // 2
    median = ordered[middle] if count % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    distances = math.fsum((value - mean) ** 2 for value in ordered)
    return {
        "count": count,
        "mean": mean,
        "median": median,
        "variance": distances / (count - 1) if count > 1 else 0.0,
        "min": ordered[0],
        "max": ordered[-1],
    }
