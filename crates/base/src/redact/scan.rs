//! One pass over a text for everything that evidence begins with.

use super::literals::{Literal, Literals};
use super::phrases::PHRASES;
use super::table::SHAPES;
use std::ops::Range;
use std::sync::LazyLock;

/// Words that names of secrets are made of, and words that begin headers with credentials.
const NAME_ANCHORS: [&str; 27] = [
    "pass",
    "pwd",
    "pw",
    "secret",
    "token",
    "key",
    "credential",
    "auth",
    "psk",
    "_pat",
    "kennwort",
    "contrase",
    "bearer",
    "cookie",
    "identified by",
    "salt",
    "pepper",
    // Passwords in other languages; letters beyond ASCII in each case that is written.
    "wachtwoord",
    "senha",
    "heslo",
    "hasło",
    "пароль",
    "Пароль",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
];

/// Occurrences of the literals that evidence begins with.
#[derive(Default)]
pub(super) struct Hits {
    /// Rows of [`SHAPES`] with the start of their anchor.
    pub(super) shapes: Vec<(usize, usize)>,
    /// Words of names, by their ends.
    pub(super) names: Vec<Range<usize>>,
    /// Numbers of [`PHRASES`] with their starts.
    pub(super) phrases: Vec<(usize, usize)>,
}

struct Scan {
    literals: Literals,
    /// The row of a shape for each of the first literals; phrases follow them, then names.
    rows: Vec<usize>,
}

static SCAN: LazyLock<Scan> = LazyLock::new(|| {
    let anchors =
        SHAPES.iter().enumerate().flat_map(|(row, shape)| shape.anchors.iter().map(move |text| (row, *text)));
    let (rows, anchors): (Vec<usize>, Vec<&'static str>) = anchors.unzip();
    let shapes = anchors.into_iter().map(|text| Literal { text, ignores_case: false });
    let names = NAME_ANCHORS.into_iter().map(|text| Literal { text, ignores_case: true });
    let phrases = PHRASES.iter().map(|phrase| Literal { text: phrase.text, ignores_case: false });
    Scan { literals: Literals::new(shapes.chain(phrases).chain(names)), rows }
});

impl Hits {
    pub(super) fn find(text: &str) -> Self {
        let mut hits = Hits::default();
        let Scan { literals, rows } = &*SCAN;
        literals.find_all(text, |number, range| match rows.get(number) {
            Some(&row) => hits.shapes.push((row, range.start)),
            None if number - rows.len() < PHRASES.len() => {
                hits.phrases.push((number - rows.len(), range.start));
            }
            None => hits.names.push(range),
        });
        hits.names.sort_unstable_by_key(|range| (range.end, range.start));
        hits
    }
}
