"""Figures of a sample of measurements."""


def summary(values):
    values.sort()
    count = len(values)
    mean = sum(values) / count
    squares = sum(value * value for value in values) / count
    return {
        "count": count,
        "mean": mean,
        "median": values[count // 2],
        "variance": squares - mean * mean,
        "min": values[0],
        "max": values[-1],
    }
