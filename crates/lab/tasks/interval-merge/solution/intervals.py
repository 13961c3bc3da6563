"""Closed intervals."""


def merge(intervals):
    checked = []
    for interval in intervals:
        start, end = interval
        if end < start:
            raise ValueError(f"{interval} ends before it starts")
        checked.append((start, end))
    checked.sort(key=lambda interval: interval[0])
    merged = []
    for start, end in checked:
        if merged and start <= merged[-1][1]:
            if merged[-1][1] < end:
                merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged
