//! Links that a command makes: a second name, by which every other look at paths is got around.

use super::look::Look;
use super::place::Place;
use super::severity::Act;
use crate::shell::Word;

/// Judges links to files. A symbolic link leads from the directory in which it lies.
pub(super) fn judge(look: &mut Look<'_>, sources: &[Word], target: Option<&Word>, symbolic: bool) {
    let here = Word::known(".");
    let target = target.unwrap_or(&here);
    for source in sources {
        let led_to = if symbolic { from_link(source, target) } else { vec![source.clone()] };
        for word in &led_to {
            second_name(look, word, target);
        }
    }
}

/// What a symbolic link may lead to: its text counts from the directory of the link, which may be the target itself.
fn from_link(source: &Word, target: &Word) -> Vec<Word> {
    if source.beginning().starts_with('/') {
        return vec![source.clone()];
    }
    let mut above = target.clone();
    above.push("/..", true);
    vec![above.joined(source), target.joined(source)]
}

fn second_name(look: &mut Look<'_>, source: &Word, target: &Word) {
    let place = look.place(source);
    // A link to credentials or devices is a way around every other look at paths.
    if place.steers()
        || matches!(
            place,
            Place::Secret | Place::ProjectSecret | Place::History | Place::Device | Place::Root | Place::Home
        )
    {
        look.act(Act::Read, source);
        look.ask("link", format!("it makes a second name for {}", place.describe()));
    } else if source.text().is_none() && place == Place::Unknown {
        look.ask("link", format!("it makes a second name for {}", place.describe()));
    } else if !is_made(place) && is_made(look.place(target)) {
        // What is deleted there is not what a build makes again.
        look.ask("link", format!("it gives {} a name that looks like what is made again", place.describe()));
    }
}

/// Is it made again, or not kept?
fn is_made(place: Place) -> bool {
    matches!(place, Place::Regenerable | Place::Temporary)
}
