//! Names for servitors: a theme for each project, the best names first.

/// Themes; each has tiers that are used up in order.
const THEMES: [[&[&str]; 3]; 4] = [
    [
        &["Vega", "Altair", "Rigel", "Sirius", "Polaris", "Capella"],
        &["Antares", "Mizar", "Bellatrix", "Procyon", "Deneb", "Arcturus", "Spica", "Castor"],
        &["Alcor", "Naos", "Zaurak", "Sadr", "Tarazed", "Kochab", "Mintaka", "Alnilam", "Menkar", "Thuban"],
    ],
    [
        &["Alder", "Rowan", "Hazel", "Linden", "Juniper", "Willow"],
        &["Aspen", "Larch", "Maple", "Cedar", "Laurel", "Hawthorn", "Elder", "Myrtle"],
        &[
            "Hornbeam",
            "Sorrel",
            "Bramble",
            "Tamarisk",
            "Medlar",
            "Whitebeam",
            "Spindle",
            "Wych",
            "Osier",
            "Sallow",
        ],
    ],
    [
        &["Danube", "Loire", "Volta", "Tagus", "Orinoco", "Shannon"],
        &["Moselle", "Tamar", "Indus", "Yukon", "Ganges", "Murray", "Elbe", "Parana"],
        &["Isar", "Severn", "Drava", "Tisza", "Kama", "Vistula", "Garonne", "Arno", "Ebro", "Meuse"],
    ],
    [
        &["Cello", "Viola", "Oboe", "Lute", "Cornet", "Fiddle"],
        &["Bassoon", "Clarion", "Dulcimer", "Tabor", "Spinet", "Celesta", "Piccolo", "Zither"],
        &[
            "Sackbut", "Ocarina", "Psaltery", "Rebec", "Shawm", "Theorbo", "Gittern", "Crumhorn", "Tambour",
            "Hautbois",
        ],
    ],
];

/// First unused name of the project's theme; when all are used, `Agent-n`.
pub(super) fn next(project: &str, used: impl Fn(&str) -> bool) -> String {
    // Stays the same for the same project.
    let sum: usize = project.bytes().map(usize::from).sum();
    let theme = THEMES.get(sum % THEMES.len()).into_iter().flatten();
    let free = theme.flat_map(|tier| tier.iter()).find(|name| !used(name));
    if let Some(name) = free {
        return (*name).to_string();
    }
    (1..).map(|n: u64| format!("Agent-{n}")).find(|name| !used(name)).unwrap_or_default()
}

/// Whether a servitor may have this name.
pub(super) fn is_valid(name: &str) -> bool {
    !id_of(name).is_empty() && !name.contains(['/', '\\']) && !name.contains(char::is_control)
}

/// The id of a name: lower case, everything but letters and digits a hyphen.
pub(super) fn id_of(name: &str) -> String {
    let mut id = String::new();
    for char in name.trim().chars() {
        if char.is_ascii_alphanumeric() || char == '_' {
            id.push(char.to_ascii_lowercase());
        } else if !id.ends_with('-') && !id.is_empty() {
            id.push('-');
        }
    }
    id.truncate(56);
    id.trim_end_matches('-').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_end_in_numbers() {
        for project in ["/a", "/b", "/c", "/d"] {
            let mut used = BTreeSet::new();
            for _ in 0..30 {
                let name = next(project, |name| used.contains(&id_of(name)));
                assert!(used.insert(id_of(&name)), "{name}");
            }
            assert!(used.contains("agent-1") && used.contains("agent-6"), "{used:?}");
        }
    }

    #[test]
    fn ids_are_names_of_files() {
        assert_eq!(id_of("Old Tom  Bombadil!"), "old-tom-bombadil");
        assert_eq!(id_of("../../x"), "x");
        assert_eq!(id_of("Zoë"), "zo");
        assert_eq!(id_of("🦀"), "");
        assert!(id_of(&"x".repeat(500)).len() <= 56);
    }
}
