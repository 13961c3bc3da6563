//! The diagnostic log: what `-v` and `MARVIN_LOG` ask for, and the subscriber that writes it.
//!
//! Without either, nothing is installed, and an event costs a load and a branch. A level counts for Marvin's own crates only:
//! lines of HTTP libraries would show headers and bodies, of which a redactor does not see the parts.

use crate::failure::Failure;
use crate::output;
use marvin_base::environment::Environment;
use marvin_base::redact::Redactor;
use marvin_base::settings::table;
use marvin_base::{clock, diagnostic_log};
use std::ffi::OsString;
use std::fmt;
use std::io;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;

/// Beginning of the targets of all crates of the workspace.
const TARGET_PREFIX: &str = "marvin";

const HINT: &str = "give a level (error, warn, info, debug), or a list such as info,marvin_gate=debug; targets begin with `marvin`";

/// A value of `MARVIN_LOG` that is not a filter.
#[derive(Debug, thiserror::Error, PartialEq)]
enum InvalidFilter {
    #[error("`{0}` is not a level")]
    Level(String),
    #[error("`{0}` is not a target of Marvin")]
    Target(String),
}

/// A level for all of Marvin, and others for some of its targets.
#[derive(Debug, PartialEq)]
struct Filter {
    level: LevelFilter,
    targets: Vec<(String, LevelFilter)>,
}

impl Filter {
    /// Parses the value of `MARVIN_LOG`.
    fn parse(text: &str) -> Result<Self, InvalidFilter> {
        let level = |word: &str| {
            // Numbers are levels of the library, not of this program.
            let named = !word.is_empty() && word.chars().all(|char| char.is_ascii_alphabetic());
            let level = word.parse::<LevelFilter>().ok().filter(|_| named);
            level.ok_or_else(|| InvalidFilter::Level(word.to_string()))
        };
        let is_target = |target: &str| {
            let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | ':');
            target.starts_with(TARGET_PREFIX) && target.chars().all(plain)
        };
        let mut filter = Filter { level: LevelFilter::OFF, targets: Vec::new() };
        for directive in text.split(',').map(str::trim).filter(|directive| !directive.is_empty()) {
            match directive.split_once('=') {
                None => filter.level = level(directive)?,
                Some((target, word)) if is_target(target.trim()) => {
                    filter.targets.push((target.trim().to_string(), level(word.trim())?));
                }
                Some((target, _)) => return Err(InvalidFilter::Target(target.trim().to_string())),
            }
        }
        Ok(filter)
    }

    /// The same with at least the level that a number of `-v` asks for.
    fn raised(mut self, verbosity: u8) -> Self {
        let asked = match verbosity {
            0 => LevelFilter::OFF,
            1 => LevelFilter::INFO,
            _ => LevelFilter::DEBUG,
        };
        self.level = self.level.max(asked);
        self
    }

    fn is_off(&self) -> bool {
        self.level == LevelFilter::OFF && self.targets.iter().all(|(_, level)| *level == LevelFilter::OFF)
    }
}

/// Counts the `-v` in front of a command and gives the words behind them.
///
/// Elsewhere they are options of the command line; in front of a command, other options would mean a turn.
pub(crate) fn leading_verbosity(words: &[OsString]) -> (u8, &[OsString]) {
    let count = |word: &OsString| match word.to_str()? {
        "--verbose" => Some(1),
        word => {
            let letters = word.strip_prefix('-')?;
            let only = !letters.is_empty() && letters.bytes().all(|byte| byte == b'v');
            only.then(|| u8::try_from(letters.len()).unwrap_or(u8::MAX))
        }
    };
    let mut verbosity: u8 = 0;
    let mut rest = words;
    while let [first, others @ ..] = rest
        && let Some(more) = count(first)
    {
        verbosity = verbosity.saturating_add(more);
        rest = others;
    }
    (verbosity, rest)
}

/// Starts the log, if `MARVIN_LOG` or the number of `-v` asks for it. Lines are shown only with `-v`.
///
/// # Errors
/// When `MARVIN_LOG` is not a filter.
pub(crate) fn start(verbosity: u8) -> Result<(), Failure> {
    let environment = Environment::of_process();
    let variables = table::LOG_FILTER.variables;
    let given = variables.iter().find_map(|name| environment.get(name)).unwrap_or_default();
    let filter = Filter::parse(given)
        .map_err(|error| Failure::usage(format!("cannot read MARVIN_LOG: {error}")).hint(HINT))?
        .raised(verbosity);
    if filter.is_off() {
        return Ok(());
    }
    let show: Option<fn(&str)> = if verbosity > 0 { Some(output::talk) } else { None };
    diagnostic_log::start(Redactor::new(&environment, []), show);
    let targets = Targets::new().with_target(TARGET_PREFIX, filter.level).with_targets(filter.targets);
    let lines =
        tracing_subscriber::fmt::layer().with_ansi(false).with_timer(Clock).with_writer(|| LineWriter);
    // The only other cause of a failure is a subscriber that is installed already, and none is.
    tracing::subscriber::set_global_default(Registry::default().with(targets).with(lines)).ok();
    Ok(())
}

/// Starts the log of a hook. A hook answers whatever the variable says: no typing error decides about a call.
pub(crate) fn start_for_hook(verbosity: u8) {
    start(verbosity).ok();
}

struct Clock;

impl FormatTime for Clock {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        writer.write_str(&clock::stamp(clock::now()))
    }
}

/// Takes a whole line per call, as the formatter gives it.
struct LineWriter;

impl io::Write for LineWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        diagnostic_log::write(&String::from_utf8_lossy(line));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_parsed_or_refused_by_word() {
        let parsed = Filter::parse(" info , marvin_gate=debug,marvin::commands=OFF,").unwrap();
        let target = |name: &str, level| (name.to_string(), level);
        assert_eq!(parsed.level, LevelFilter::INFO);
        assert_eq!(
            parsed.targets,
            [target("marvin_gate", LevelFilter::DEBUG), target("marvin::commands", LevelFilter::OFF)]
        );
        assert!(Filter::parse("").unwrap().is_off() && Filter::parse("off").unwrap().is_off());
        for bad in ["inof", "3", "marvin_gate", "marvin_gate=", "marvin_gate=loud", "info debug"] {
            assert!(matches!(Filter::parse(bad), Err(InvalidFilter::Level(_))), "{bad}");
        }
        for bad in ["h2=trace", "=debug", "marvin gate=debug", "marvin[x]=info"] {
            assert!(matches!(Filter::parse(bad), Err(InvalidFilter::Target(_))), "{bad}");
        }
    }

    #[test]
    fn flags_raise_the_level_and_never_lower_it() {
        let level = |text: &str, verbosity| Filter::parse(text).unwrap().raised(verbosity).level;
        assert_eq!(level("", 1), LevelFilter::INFO);
        assert_eq!(level("info", 2), LevelFilter::DEBUG);
        assert_eq!(level("trace", 1), LevelFilter::TRACE);
        assert_eq!(level("", 200), LevelFilter::DEBUG);
    }

    #[test]
    fn verbosity_is_counted_in_front_of_a_command() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (line, verbosity, rest) in [
            ("-v doctor", 1, "doctor"),
            ("-vv -v --verbose doctor -v", 4, "doctor -v"),
            ("doctor -vv", 0, "doctor -vv"),
            ("-V", 0, "-V"),
            ("-vx doctor", 0, "-vx doctor"),
            ("- doctor", 0, "- doctor"),
        ] {
            assert_eq!(leading_verbosity(&words(line)), (verbosity, words(rest).as_slice()), "{line}");
        }
    }
}
