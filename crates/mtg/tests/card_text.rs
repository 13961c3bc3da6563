//! The text of cards on its way to abilities: names, type lines, the normal form, and overrides.

use marvin_mtg::cards::{
    CardFacts, OverrideFault, check_overrides, find_subtype, fold_name, normalise, override_faults,
    plural_name,
};

#[test]
fn names_compare_without_case_accents_and_marks() {
    for (left, right) in [
        ("Ajani’s Pridemate", "ajani's pridemate"),
        ("Lim-Dûl's Vault", "lim dul’s  vault"),
        ("Fire // Ice", "Fire/Ice"),
        ("Æther Vial", "Aether Vial"),
    ] {
        assert_eq!(fold_name(left), fold_name(right));
    }
    assert_ne!(fold_name("Plains"), fold_name("Plain"));
}

#[test]
fn a_type_line_has_words_before_and_after_the_dash() {
    let facts: CardFacts = serde_json::from_str(
        r#"{"name":"Maro","type_line":"Legendary Creature — Elf Elemental","printings":["MIR:R","9ED:R"],"more":1}"#,
    )
    .unwrap();
    assert_eq!(facts.type_words().collect::<Vec<_>>(), ["Legendary", "Creature"]);
    assert_eq!(facts.subtype_words().collect::<Vec<_>>(), ["Elf", "Elemental"]);
    assert_eq!(facts.set_codes().collect::<Vec<_>>(), ["MIR", "9ED"]);
    assert!(facts.has_one_face());
}

fn normal(name: &str, type_line: &str, text: &str) -> Vec<String> {
    normalise(&CardFacts {
        name: name.to_owned(),
        mana_cost: String::new(),
        type_line: type_line.to_owned(),
        oracle_text: text.to_owned(),
        power: None,
        toughness: None,
        loyalty: None,
        colors: Vec::new(),
        printings: Vec::new(),
        layout: "normal".to_owned(),
    })
}

#[test]
fn the_card_itself_is_a_tilde() {
    let text =
        "Flying (It flies.)\nWhenever Ajani's Pridemate attacks, put a +1/+1 counter on this creature.";
    assert_eq!(
        normal("Ajani's Pridemate", "Creature — Cat Soldier", text),
        ["flying", "whenever ~ attacks, put a +1/+1 counter on ~."]
    );
    assert_eq!(
        normal("Huatli, Dinosaur Knight", "Legendary Planeswalker — Huatli", "Huatli deals 1 damage to you."),
        ["~ deals 1 damage to you."]
    );
    assert_eq!(
        normal("Tuinvale Guide", "Creature — Faerie", "Destroy target creature. Draw a card."),
        ["destroy target creature. draw a card."]
    );
}

#[test]
fn sentences_costs_and_modes_begin_small() {
    assert_eq!(
        normal("A", "Artifact", "{1}, {T}, Sacrifice A: Goblins you control get +1/+0 until end of turn."),
        ["{1}, {T}, sacrifice ~: Goblins you control get +1/+0 until end of turn."]
    );
    assert_eq!(
        normal("Charm", "Instant", "Choose one —\n• Destroy target land.\n• Draw a card."),
        ["choose one — • destroy target land. • draw a card."]
    );
    assert_eq!(
        normal("Ward", "Enchantment — Aura", "Enchanted creature has \"{T}: Draw a card.\""),
        ["enchanted creature has \"{T}: draw a card.\""]
    );
}

#[test]
fn plurals_of_subtypes_are_found() {
    for (plural, singular) in
        [("Elves", "Elf"), ("Goblins", "Goblin"), ("Faeries", "Faerie"), ("Allies", "Ally"), ("Foxes", "Fox")]
    {
        let (subtype, is_plural) = find_subtype(plural).unwrap();
        assert_eq!((subtype.name(), is_plural, plural_name(subtype)), (singular, true, plural.to_owned()));
    }
    assert_eq!(find_subtype("Merfolk").unwrap().0.name(), "Merfolk");
    assert_eq!(find_subtype("Creatures"), None);
}

#[test]
fn the_shipped_overrides_have_no_fault() {
    assert_eq!(override_faults(), []);
}

#[test]
fn a_bad_override_is_named_and_the_others_stay() {
    let faults = check_overrides(
        r#"{
            "0123456789abcdef": {"card": "Good", "lines": ["flying"]},
            "0123456789abcdee": {"card": "Odd", "abilities": ["no_such_ability"]},
            "0123456789abcded": {"card": "Empty"},
            "0123456789abcdec": {"card": "Read", "lines": ["no rule reads this"]},
            "short": {"card": "Short", "lines": ["flying"]}
        }"#,
    );
    let told: Vec<String> = faults.iter().map(OverrideFault::to_string).collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(told[0], "cannot use override 0123456789abcded of Empty: it has neither lines nor abilities");
    assert!(told[1].starts_with("cannot use override 0123456789abcdee of Odd: unknown variant"), "{told:?}");
    assert_eq!(told[2], "cannot use override short of Short: the key is not 16 hexadecimal digits");
    assert!(told[3].contains("0123456789abcdec of Read: no rule of the grammar reads"), "{told:?}");
}

#[test]
fn overrides_that_are_not_an_object_are_one_fault() {
    assert_eq!(check_overrides("[]").len(), 1);
}
