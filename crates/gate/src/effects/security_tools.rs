//! Programs that watch over a machine, and programs that are made to attack one.

use super::words;

/// Is this something that watches over the machine?
pub(super) fn is_defence(name: &str) -> bool {
    let name = name.trim_end_matches(".service").trim_end_matches(".socket").to_ascii_lowercase();
    words::DEFENCES.matches(&name) || words::DEFENCE_NAME_PARTS.matches(&name)
}

/// Is this a program, or a script, that is made to attack?
pub(super) fn is_attack(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name =
        name.trim_end_matches(".py").trim_end_matches(".sh").trim_end_matches(".ps1").trim_end_matches(".rb");
    words::ATTACK_TOOLS.matches(name)
}
