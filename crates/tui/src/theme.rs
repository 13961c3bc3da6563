//! Colours. Nothing is said by colour alone, and without colours everything is still there.

use ratatui::style::{Color, Modifier, Style};

/// Styles of the screen.
#[derive(Debug, Clone)]
pub(crate) struct Theme {
    pub(crate) you: Style,
    pub(crate) marvin: Style,
    pub(crate) system: Style,
    pub(crate) time: Style,
    pub(crate) heading: Style,
    pub(crate) quote: Style,
    pub(crate) mark: Style,
    pub(crate) bullet: Style,
    pub(crate) code: Style,
    pub(crate) address: Style,
    pub(crate) comment: Style,
    pub(crate) string: Style,
    pub(crate) number: Style,
    pub(crate) keyword: Style,
    pub(crate) function: Style,
    pub(crate) escaped: Style,
    pub(crate) tool: Style,
    pub(crate) good: Style,
    pub(crate) bad: Style,
    pub(crate) warn: Style,
    pub(crate) added: Style,
    pub(crate) removed: Style,
    pub(crate) status: Style,
    pub(crate) banner: Style,
    pub(crate) border: Style,
    pub(crate) chosen: Style,
}

impl Theme {
    /// The theme for an environment: none of it coloured where `NO_COLOR` is set or the terminal is a dumb one.
    #[must_use]
    pub(crate) fn choose(no_color: bool) -> Self {
        if no_color { Theme::plain() } else { Theme::dark() }
    }

    /// The sixteen colours that every terminal lets its person choose: they fit light and dark ones.
    pub(crate) fn dark() -> Self {
        let colour = |colour| Style::default().fg(colour);
        let faint = Style::default().add_modifier(Modifier::DIM);
        Theme {
            you: colour(Color::Cyan).add_modifier(Modifier::BOLD),
            marvin: colour(Color::Green).add_modifier(Modifier::BOLD),
            system: colour(Color::Yellow),
            time: faint,
            heading: colour(Color::Blue).add_modifier(Modifier::BOLD),
            quote: faint.add_modifier(Modifier::ITALIC),
            mark: faint,
            bullet: colour(Color::Yellow),
            code: colour(Color::Magenta),
            address: colour(Color::Blue).add_modifier(Modifier::UNDERLINED),
            comment: faint.add_modifier(Modifier::ITALIC),
            string: colour(Color::Green),
            number: colour(Color::Cyan),
            keyword: colour(Color::Magenta),
            function: colour(Color::Blue),
            escaped: colour(Color::Red).add_modifier(Modifier::REVERSED),
            tool: colour(Color::Blue),
            good: colour(Color::Green),
            bad: colour(Color::Red),
            warn: colour(Color::Yellow).add_modifier(Modifier::BOLD),
            added: colour(Color::Green),
            removed: colour(Color::Red),
            status: Style::default().add_modifier(Modifier::REVERSED),
            banner: colour(Color::Yellow).add_modifier(Modifier::REVERSED | Modifier::BOLD),
            border: faint,
            chosen: Style::default().add_modifier(Modifier::REVERSED),
        }
    }

    /// No colours.
    pub(crate) fn plain() -> Self {
        let none = Style::default();
        let bold = none.add_modifier(Modifier::BOLD);
        let turned = none.add_modifier(Modifier::REVERSED);
        Theme {
            you: bold,
            marvin: bold,
            system: none,
            time: none,
            heading: bold,
            quote: none,
            mark: none,
            bullet: none,
            code: none,
            address: none.add_modifier(Modifier::UNDERLINED),
            comment: none,
            string: none,
            number: none,
            keyword: none,
            function: none,
            escaped: turned,
            tool: none,
            good: none,
            bad: bold,
            warn: bold,
            added: none,
            removed: none,
            status: turned,
            banner: turned,
            border: none,
            chosen: turned,
        }
    }

    /// A line of a change.
    pub(crate) fn diff(&self, line: &str) -> Style {
        if line.starts_with("+++")
            || line.starts_with("---")
            || line.starts_with("@@")
            || line.starts_with("***")
        {
            self.mark
        } else if line.starts_with('+') {
            self.added
        } else if line.starts_with('-') {
            self.removed
        } else {
            Style::default()
        }
    }
}
