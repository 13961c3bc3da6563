//! Output of the chores: results on stdout, errors on stderr.

#[expect(clippy::print_stdout, reason = "chores talk to the person who runs them")]
pub(crate) fn say(text: &str) {
    println!("{text}");
}

#[expect(clippy::print_stderr, reason = "chores talk to the person who runs them")]
pub(crate) fn complain(text: &str) {
    eprintln!("{text}");
}
