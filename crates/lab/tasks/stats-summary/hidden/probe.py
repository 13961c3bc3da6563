def summary(values):
    import stats_summary
    return outcome(stats_summary.summary, values)


def of_generator(values):
    import stats_summary
    return outcome(stats_summary.summary, (value for value in values))


def left_alone(values):
    import stats_summary
    given = list(values)
    stats_summary.summary(given)
    return given
