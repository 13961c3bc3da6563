//! Arguments of tools: whatever comes, it is understood or explained, and judged; nothing is run.

use crate::divided;
use crate::world::world;
use marvin_model::Arguments;
use marvin_tools::MISUNDERSTOOD;

/// Takes bytes as the name of a tool and its arguments, and has the call judged.
pub fn arguments(data: &[u8]) {
    let world = world();
    let (name, text) = divided(data);
    let arguments = Arguments::from_text(&text);
    let verdict = world.toolbox.judge(&name, &arguments, &world.context);
    assert!(!verdict.rule.is_empty() && !verdict.reason.is_empty(), "{name} {text}: {verdict:?}");
    assert!(
        verdict.is_allowed() || !verdict.how_to_fix.is_empty(),
        "{name} {text}: there is no mend in {verdict:?}"
    );
    assert!(verdict.for_model().len() < 100_000, "{name}: a verdict without bound");
    if world.toolbox.find(&name).is_err() {
        assert_eq!(verdict.rule, MISUNDERSTOOD, "{name}");
    }
    // What is understood twice is understood the same.
    let again = Arguments::from_text(&arguments.to_text());
    if arguments.object().is_some() {
        assert_eq!(arguments, again, "{text}");
    }
}
