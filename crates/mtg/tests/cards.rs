//! The text of cards on its way to abilities, and the shipped pool and decks: every supported card compiles, and no input makes
//! a parser panic.

#![expect(clippy::unwrap_used, reason = "a broken pool fails the tests")]

use marvin_mtg::ability::Ability;
use marvin_mtg::cards::{
    CardFacts, OverrideFault, Pool, check_overrides, compile, find_subtype, fold_name, normalise,
    override_faults, plural_name,
};
use marvin_mtg::decks::{
    DeckEntry, DeckFormat, DeckList, check, export, import, shipped_card_names, shipped_decks,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

/// Supported cards other than those of the decks.
const MIN_OTHER_CARDS: usize = 1500;

fn pool() -> &'static Pool {
    Pool::shipped().unwrap()
}

fn facts(name: &str, type_line: &str, text: &str) -> CardFacts {
    CardFacts {
        name: name.to_owned(),
        mana_cost: "{1}{G}".to_owned(),
        type_line: type_line.to_owned(),
        oracle_text: text.to_owned(),
        power: None,
        toughness: None,
        loyalty: None,
        colors: Vec::new(),
        printings: Vec::new(),
        layout: "normal".to_owned(),
    }
}

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
    normalise(&facts(name, type_line, text))
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

#[test]
fn the_cards_of_the_decks_are_in_the_pool_and_supported() {
    let mut declined = BTreeSet::new();
    for shipped in shipped_decks() {
        for entry in shipped.deck.main.iter().chain(&shipped.deck.sideboard) {
            let facts =
                pool().find(&entry.name).unwrap_or_else(|| panic!("{} is not in the pool", entry.name));
            if let Err(decline) = compile(facts) {
                declined.insert(format!("{}: {decline}", facts.name));
            }
        }
    }
    assert_eq!(declined, BTreeSet::new());
}

#[test]
fn activated_abilities_of_the_decks_have_a_text() {
    for shipped in shipped_decks() {
        for entry in shipped.deck.main.iter().chain(&shipped.deck.sideboard) {
            let Some(Ok(face)) = pool().find(&entry.name).map(compile) else { continue };
            for ability in &face.abilities {
                if let Ability::Activated(activated) = ability {
                    assert!(!activated.text.is_empty(), "{}: {activated:?}", entry.name);
                }
            }
        }
    }
}

#[test]
fn other_cards_of_the_pool_are_all_supported() {
    let in_decks = shipped_card_names();
    let others: Vec<&CardFacts> =
        pool().iter().filter(|facts| !in_decks.contains(facts.name.as_str())).collect();
    assert!(others.len() >= MIN_OTHER_CARDS, "{}", others.len());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for part in others.chunks(others.len().div_ceil(threads)) {
            scope.spawn(move || {
                for facts in part {
                    // Compiling compares the printed text with the normal form of the text.
                    compile(facts).unwrap_or_else(|decline| panic!("{}: {decline}", facts.name));
                }
            });
        }
    });
}

/// The facts of all cards, named by a variable or beside the checkout.
fn facts_file() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("MTG_FACTS") {
        return Some(PathBuf::from(path));
    }
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|parent| parent.join("shared/data/mtg/cards.jsonl.gz")).find(|path| path.is_file())
}

/// `MTG_POOL_WRITE=1` writes the pool again.
#[test]
fn the_shipped_pool_is_what_the_import_makes() {
    let Some(path) = facts_file() else {
        eprintln!("skipped: no file of facts");
        return;
    };
    if std::env::var_os("MTG_POOL_CHECK").is_none() {
        eprintln!("skipped: MTG_POOL_CHECK is not set, and all cards take minutes to compile");
        return;
    }
    let all = Pool::read(&std::fs::read(path).unwrap()).unwrap();
    let made = all.select_supported(&shipped_card_names());
    let names = |pool: &Pool| -> BTreeSet<String> { pool.iter().map(|facts| facts.name.clone()).collect() };
    let (made_names, shipped_names) = (names(&made), names(pool()));
    let missing: Vec<&String> = made_names.difference(&shipped_names).collect();
    let extra: Vec<&String> = shipped_names.difference(&made_names).collect();
    eprintln!("{} cards; not shipped: {missing:?}; shipped without reason: {extra:?}", made.len());
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/pool.jsonl.gz");
    let bytes = made.write().unwrap();
    if std::env::var_os("MTG_POOL_WRITE").is_some() {
        std::fs::write(&file, &bytes).unwrap();
    }
    assert!(std::fs::read(&file).unwrap() == bytes, "the shipped pool is not current");
}

#[test]
fn five_decks_have_one_colour_and_only_supported_cards() {
    for id in ["glorious_combat", "political_trickery", "dark_sacrifice", "draconic_fury", "boundless_elves"]
    {
        let shipped = shipped_decks().iter().find(|shipped| shipped.id == id).unwrap();
        let report = check(&shipped.deck, pool());
        assert!(report.is_playable(), "{id}: {report:?}");
        assert_eq!(report.cards, 60);
        assert!(report.legality.iter().all(|legality| legality.violations.is_empty()), "{id}");
    }
    assert_eq!(shipped_decks().len(), 73);
}

#[test]
fn the_pool_loads_quickly() {
    let bytes = pool().write().unwrap();
    let start = Instant::now();
    assert_eq!(Pool::read(&bytes).unwrap().len(), pool().len());
    // A debug build of a loaded machine: the limit of a release build is 100 ms.
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

#[test]
fn a_declined_card_names_its_line() {
    let card = facts("Odd", "Instant", "Draw a card.\nTransmogrify target hat.");
    let decline = compile(&card).unwrap_err();
    assert_eq!(decline.line, "transmogrify target hat.");
}

const DECKS: [(&str, DeckFormat); 6] = [
    (
        "About\nName Elves\n\nDeck\n4 Llanowar Elves (M19) 314\n20 Forest (M19) 280\n\nSideboard\n1 Naturalize (M19) 190\n",
        DeckFormat::Arena,
    ),
    ("4 Llanowar Elves\n20 Forest\n\n1 Naturalize\n", DeckFormat::Mtgo),
    ("4x Llanowar Elves\n20 Forest\nSB: 1 Naturalize\n", DeckFormat::Mtgo),
    (
        "<?xml version=\"1.0\"?><Deck><Cards CatID=\"1\" Quantity=\"4\" Sideboard=\"false\" Name=\"Llanowar Elves\"/><Cards Quantity=\"20\" Sideboard=\"false\" Name=\"Forest\"/><Cards Quantity=\"1\" Sideboard=\"true\" Name=\"Naturalize\"/></Deck>",
        DeckFormat::MtgoXml,
    ),
    (
        "[metadata]\nName=Elves\n[Main]\n4 Llanowar Elves|M19|1\n20 Forest|M19\n[Sideboard]\n1 Naturalize\n",
        DeckFormat::Forge,
    ),
    (
        "<cockatrice_deck version=\"1\"><deckname>Elves</deckname><zone name=\"main\"><card number=\"4\" name=\"Llanowar Elves\"/><card number=\"20\" name=\"Forest\"/></zone><zone name=\"side\"><card number=\"1\" name=\"Naturalize\"/></zone></cockatrice_deck>",
        DeckFormat::Cockatrice,
    ),
];

#[test]
fn decks_of_all_formats_are_read() {
    for (text, format) in DECKS {
        let imported = import(text).unwrap();
        assert_eq!(imported.format, format, "{text}");
        assert_eq!(imported.skipped, [], "{text}");
        let count = |entries: &[DeckEntry]| {
            entries.iter().map(|entry| (entry.count, entry.name.clone())).collect::<Vec<_>>()
        };
        assert_eq!(
            count(&imported.deck.main),
            [(4, "Llanowar Elves".to_owned()), (20, "Forest".to_owned())],
            "{text}"
        );
        assert_eq!(count(&imported.deck.sideboard), [(1, "Naturalize".to_owned())], "{text}");
    }
}

#[test]
fn unknown_and_unsupported_cards_are_reported_with_replacements() {
    let imported = import("4 Lanowar Elves\n1 Odd Hatter\nwhat\n0 Forest\n").unwrap();
    assert_eq!(imported.skipped.len(), 1);
    let mut pool = pool().clone();
    pool.insert(facts("Odd Hatter", "Creature — Elf", "Transmogrify target hat."));
    let report = check(&imported.deck, &pool);
    assert!(!report.is_playable());
    let unknown = report.unknown.iter().find(|card| card.name == "Lanowar Elves").unwrap();
    assert_eq!(unknown.suggestions.first().map(String::as_str), Some("Llanowar Elves"));
    let unsupported = report.unsupported.first().unwrap();
    assert_eq!((unsupported.name.as_str(), unsupported.substitutes.len()), ("Odd Hatter", 3));
}

fn entries() -> impl Strategy<Value = Vec<DeckEntry>> {
    let names: Vec<String> = pool().iter().map(|facts| facts.name.clone()).collect();
    let entry = (1_u32..60, 0..names.len())
        .prop_map(move |(count, index)| DeckEntry::new(count, names.get(index).cloned().unwrap_or_default()));
    proptest::collection::vec(entry, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_exported_deck_is_read_back(main in entries(), sideboard in entries(), format in 0..DeckFormat::ALL.len()) {
        let deck = DeckList { name: String::new(), main, sideboard, outside: Vec::new() };
        let imported = import(&export(&deck, DeckFormat::ALL[format])).unwrap();
        prop_assert_eq!(imported.deck.main, deck.main);
        prop_assert_eq!(imported.deck.sideboard, deck.sideboard);
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "\\PC{0,200}", lines in "([0-9]{0,3}x? ?[\\[\\]|()/<>&A-Za-z' ]{0,20}\n){0,8}") {
        let _ = import(&text);
        let _ = import(&lines);
        let _ = import(&format!("<Deck>{text}"));
    }

    #[test]
    fn any_rules_text_is_compiled_or_declined(first in 0_usize..3000, second in 0_usize..3000, cut in 0_usize..200, noise in "\\PC{0,8}") {
        let cards: Vec<&CardFacts> = pool().iter().collect();
        let text = |index: usize| cards[index % cards.len()].oracle_text.clone();
        let (left, right) = (text(first), text(second));
        let head: String = left.chars().take(cut).collect();
        let tail: String = right.chars().skip(cut).collect();
        for type_line in ["Instant", "Creature — Elf", "Enchantment — Aura"] {
            let _ = compile(&facts("Mixed Card", type_line, &format!("{head}{noise}{tail}")));
        }
    }
}
