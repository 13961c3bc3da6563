//! Tool arguments: any text is parsed or explained, and judged; nothing is run.

use crate::fixture::fixture;
use crate::input::split_at_nul;
use marvin_model::Arguments;
use marvin_tools::MISUNDERSTOOD;

/// Judges a call whose tool name and arguments are the input.
pub fn arguments(data: &[u8]) {
    let fixture = fixture();
    let (name, text) = split_at_nul(data);
    let arguments = Arguments::from_text(&text);
    let verdict = fixture.toolbox.judge(&name, &arguments, &fixture.context);
    assert!(!verdict.rule.is_empty() && !verdict.reason.is_empty(), "{name} {text}: {verdict:?}");
    assert!(
        verdict.is_allowed() || !verdict.how_to_fix.is_empty(),
        "{name} {text}: no hint how to fix it in {verdict:?}"
    );
    assert!(verdict.for_model().len() < 100_000, "{name}: an unbounded verdict");
    if fixture.toolbox.find(&name).is_err() {
        assert_eq!(verdict.rule, MISUNDERSTOOD, "{name}");
    }
    // Arguments that are printed and parsed again stay the same.
    let again = Arguments::from_text(&arguments.to_text());
    if arguments.object().is_some() {
        assert_eq!(arguments, again, "{text}");
    }
}
