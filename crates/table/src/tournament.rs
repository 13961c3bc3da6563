//! Results of a round robin: standings with confidence intervals, and their plot.

use crate::model_player::ModelFigures;
use serde::Serialize;

/// Standard normal deviate of an interval of 95 %.
const DEVIATE: f64 = 1.96;

/// Results of two players against each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PairResult {
    pub players: [&'static str; 2],
    pub wins: [u64; 2],
    pub draws: u64,
}

/// Results of a tournament.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TournamentReport {
    pub pairs: Vec<PairResult>,
    /// Figures of all models together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelFigures>,
}

/// Standing of a player; a draw counts half.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    pub player: &'static str,
    pub games: u64,
    pub wins: u64,
    pub draws: u64,
    pub percent: f64,
    /// Interval of 95 % (Wilson).
    pub low_percent: f64,
    pub high_percent: f64,
}

/// Report with the standings that follow from it.
#[derive(Debug, Serialize)]
pub struct RankedReport<'r> {
    pub standings: Vec<Standing>,
    #[serde(flatten)]
    pub report: &'r TournamentReport,
}

impl TournamentReport {
    /// Adds a game; the winner is the first or second player, or neither.
    pub fn add(&mut self, players: [&'static str; 2], winner: Option<usize>, model: Option<ModelFigures>) {
        let position = self.pairs.iter().position(|pair| pair.players == players);
        let position = position.unwrap_or_else(|| {
            self.pairs.push(PairResult { players, wins: [0, 0], draws: 0 });
            self.pairs.len() - 1
        });
        if let Some(pair) = self.pairs.get_mut(position) {
            match winner.and_then(|winner| pair.wins.get_mut(winner)) {
                Some(wins) => *wins += 1,
                None => pair.draws += 1,
            }
        }
        if let Some(figures) = model {
            let sum = self.model.get_or_insert_default();
            sum.questions += figures.questions;
            sum.calls += figures.calls;
            sum.illegal += figures.illegal;
            sum.schema_retries += figures.schema_retries;
            sum.fallbacks += figures.fallbacks;
            sum.failures += figures.failures;
            sum.tokens += figures.tokens;
            sum.cost += figures.cost;
        }
    }

    /// Standings, best first.
    #[must_use]
    pub fn standings(&self) -> Vec<Standing> {
        let mut names: Vec<&'static str> = Vec::new();
        for name in self.pairs.iter().flat_map(|pair| pair.players) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut standings: Vec<Standing> = names.into_iter().map(|name| self.standing(name)).collect();
        standings.sort_by(|one, two| two.percent.total_cmp(&one.percent));
        standings
    }

    #[must_use]
    pub fn with_standings(&self) -> RankedReport<'_> {
        RankedReport { standings: self.standings(), report: self }
    }

    fn standing(&self, player: &'static str) -> Standing {
        let (mut games, mut wins, mut draws) = (0, 0, 0);
        for pair in &self.pairs {
            for (name, won) in pair.players.into_iter().zip(pair.wins) {
                if name == player {
                    wins += won;
                    draws += pair.draws;
                    games += pair.wins.iter().sum::<u64>() + pair.draws;
                }
            }
        }
        let (low, mid, high) = wilson(to_float(wins) + to_float(draws) / 2.0, to_float(games));
        Standing {
            player,
            games,
            wins,
            draws,
            percent: mid * 100.0,
            low_percent: low * 100.0,
            high_percent: high * 100.0,
        }
    }
}

fn to_float(count: u64) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}

/// Share with its interval.
fn wilson(hits: f64, all: f64) -> (f64, f64, f64) {
    if all <= 0.0 {
        return (0.0, 0.0, 1.0);
    }
    let share = hits / all;
    let square = DEVIATE * DEVIATE;
    let centre = share + square / (2.0 * all);
    let spread = DEVIATE * (share * (1.0 - share) / all + square / (4.0 * all * all)).sqrt();
    let scale = 1.0 + square / all;
    (((centre - spread) / scale).max(0.0), share, ((centre + spread) / scale).min(1.0))
}

/// The standings as an SVG: a bar per player with its interval.
#[must_use]
pub fn plot_standings(standings: &[Standing]) -> String {
    const ROW: usize = 34;
    let height = 40 + standings.len() * ROW;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 520 {height}\" font-family=\"sans-serif\" font-size=\"13\">\n<title>Games won, in percent, with the interval of 95 %</title>\n"
    );
    for tick in [0, 25, 50, 75, 100] {
        let x = 110 + tick * 4;
        svg.push_str(&format!(
            "<line x1=\"{x}\" y1=\"10\" x2=\"{x}\" y2=\"{}\" stroke=\"#ccc\"/><text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{tick} %</text>\n",
            height - 24,
            height - 8
        ));
    }
    for (index, row) in standings.iter().enumerate() {
        let y = 16 + index * ROW;
        let (low, mid, high) =
            (110.0 + row.low_percent * 4.0, 110.0 + row.percent * 4.0, 110.0 + row.high_percent * 4.0);
        let middle = y + 9;
        svg.push_str(&format!(
            "<text x=\"102\" y=\"{}\" text-anchor=\"end\">{}</text><rect x=\"110\" y=\"{y}\" width=\"{:.1}\" height=\"18\" fill=\"#4878a8\"/><line x1=\"{low:.1}\" y1=\"{middle}\" x2=\"{high:.1}\" y2=\"{middle}\" stroke=\"#222\" stroke-width=\"2\"/>\n",
            y + 14,
            row.player,
            mid - 110.0
        ));
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_the_share_and_shrink_with_games() {
        let mut report = TournamentReport::default();
        for number in 0..40 {
            report.add(["heuristic", "random"], Some(usize::from(number % 10 == 0)), None);
        }
        report.add(["heuristic", "random"], None, None);
        let standings = report.standings();
        let best = standings.first().unwrap();
        assert_eq!((best.player, best.games, best.wins, best.draws), ("heuristic", 41, 36, 1));
        assert!(best.low_percent < best.percent && best.percent < best.high_percent);
        let (narrow_low, _, narrow_high) = wilson(90.0, 100.0);
        let (low, _, high) = wilson(9.0, 10.0);
        assert!(narrow_high - narrow_low < high - low);
        assert!(plot_standings(&standings).contains(">heuristic</text>"));
    }
}
