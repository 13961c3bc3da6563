//! Counts of figures, held against their limits.

use super::table::Figure;
use std::cmp::Reverse;

/// Distance between limit and count above which a limit must be tightened.
#[cfg(test)]
pub(super) const MAX_SLACK_PERCENT: u64 = 5;

/// A figure and what was found.
pub(super) struct Count {
    pub(super) figure: Figure,
    pub(super) total: u64,
    /// Heaviest first.
    pub(super) places: Vec<Place>,
}

#[derive(serde::Serialize)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) weight: u64,
    pub(super) note: String,
}

impl Count {
    pub(super) fn new(figure: Figure, mut places: Vec<Place>) -> Self {
        let weights = places.iter().map(|place| place.weight);
        let total = if figure.is_maximum() { weights.max().unwrap_or(0) } else { weights.sum() };
        places.sort_by_key(|place| Reverse(place.weight));
        Self { figure, total, places }
    }

    pub(super) fn is_exceeded(&self) -> bool {
        let row = &self.figure.row;
        row.limit.is_some_and(|limit| self.total > limit)
            || row.at_least.is_some_and(|least| self.total < least)
    }

    /// Is the limit so far from the count that the figure could get worse unnoticed?
    #[cfg(test)]
    pub(super) fn is_slack(&self) -> bool {
        let row = &self.figure.row;
        let beyond = |larger: u64, smaller: u64| larger * 100 > smaller * (100 + MAX_SLACK_PERCENT);
        row.limit.is_some_and(|limit| beyond(limit, self.total))
            || row.at_least.is_some_and(|least| beyond(self.total, least))
    }

    pub(super) fn limit(&self) -> String {
        match (self.figure.row.limit, self.figure.row.at_least) {
            (Some(limit), _) => limit.to_string(),
            (None, Some(least)) => format!("≥ {least}"),
            (None, None) => "-".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::census::table;

    #[test]
    fn limits_and_minimums_are_judged() {
        let judge = |limits: &str, weights: &[u64]| {
            let text = format!("[[figure]]\nname = 'json_macros'\ncounts = 'x'\n{limits}");
            let place =
                |weight: &u64| Place { path: String::new(), line: 1, weight: *weight, note: String::new() };
            let figure = table::parse(&text).unwrap().remove(0);
            let count = Count::new(figure, weights.iter().map(place).collect());
            (count.is_exceeded(), count.is_slack())
        };
        assert_eq!(judge("limit = 100", &[60, 41]), (true, false));
        assert_eq!(judge("limit = 100", &[60, 36]), (false, false));
        assert_eq!(judge("limit = 100", &[60, 35]), (false, true));
        assert_eq!(judge("at_least = 100", &[99]), (true, false));
        assert_eq!(judge("at_least = 100", &[106]), (false, true));
        assert_eq!(judge("", &[1]), (false, false));
    }
}
