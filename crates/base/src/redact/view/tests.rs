use super::*;
use crate::redact::{Redactor, StreamRedactor, samples};
use std::sync::Arc;

/// Templates of texts that hide a secret behind escapes; nothing between ⟦ and ⟧ may remain.
#[rustfmt::skip]
const HIDDEN: &[&str] = &[
    // Colors before, behind and inside tokens and named values.
    "«esc»[31m⟦AKIA«up:16»⟧«esc»[0m",
    "word«esc»[1;38;5;208m⟦AKIA«up:16»⟧«esc»[0mword",
    "«esc»[01;31m«esc»[K⟦sk-ant-api03-«b62:93»AA⟧«esc»[m«esc»[K",
    "⟦ghp_«b62:10»«esc»[7m«b62:26»⟧«esc»[0m",
    "⟦AK«esc»[31mIA«up:16»⟧",
    "«esc»(B⟦glpat-«b62:20»⟧",
    "«esc»[34;1m\"token\"«esc»[0m«esc»[1;39m:«esc»[0m «esc»[0;32m\"⟦«b62:24»⟧\"«esc»[0m",
    "token=«esc»[32m⟦«b62:24»⟧«esc»[0m",
    "API_TOKEN«esc»[2m=«esc»[0m⟦«b62:24»⟧",
    "pass«esc»[1mword«esc»[0m: \"⟦«b62:24»⟧\"",
    "Authorization: Bearer «esc»[33m⟦«b62:40»⟧«esc»[0m",
    "«esc»]8;;https://example.com/«esc»\\⟦AKIA«up:16»⟧«esc»]8;;«esc»\\",
    "«esc»]0;a title with words«bel»⟦AKIA«up:16»⟧",
    // Characters that take no space.
    "«bom»⟦AKIA«up:16»⟧",
    "a «zwsp»⟦glpat-«b62:20»⟧ b",
    "⟦glp«zwsp»at-«b62:10»«zwsp»«b62:10»⟧",
    "⟦sk-ant-api03-«b62:40»«shy»«b62:53»AA⟧",
    "to«shy»ken: \"⟦«b62:24»⟧\"",
    "⟦AKI«bom»A«up:16»⟧",
    "⟦AK«bs»IA«up:16»⟧",
    "⟦AKx«bs»IA«up:16»⟧",
    "«esc»[1m⟦AK«zwsp»IA«up:16»⟧",
    // Escapes as text.
    "\\033[31m⟦AKIA«up:16»⟧\\033[0m",
    "\\u001b[31m⟦glpat-«b62:20»⟧",
    "token=\\x1b[32m⟦«b62:24»⟧",
    r#"{"log":"a\n⟦sk-ant-api03-«b62:93»AA⟧\n"}"#,
    r#"{"log":"a\t⟦AKIA«up:16»⟧"}"#,
    r#"{"log":"a\r\n⟦glpat-«b62:20»⟧"}"#,
    r#"{"log":"a\nb\nAPI_KEY=⟦«b62:24»⟧ c"}"#,
    r#"{"log":"\napi_key: \"⟦«b62:24»⟧\""}"#,
    r"\u0022⟦AKIA«up:16»⟧\u0022",
    r"\u0022api_key\u0022:\u0022⟦«b62:24»⟧\u0022",
    r"token\u003d⟦«b62:24»⟧",
    r"\x22⟦AKIA«up:16»⟧\x22",
    r"\x22api_key\x22: \x22⟦«b62:24»⟧\x22",
    "q=%3D⟦AKIA«up:16»⟧",
    "q=a%20⟦glpat-«b62:20»⟧",
    "q=%2520⟦glpat-«b62:20»⟧",
    "%7B%22api_key%22%3A%22⟦«b62:24»⟧%22%7D",
    "%22api_key%22%3A%20%22⟦«b62:24»⟧%22",
    "{&quot;api_key&quot;:&quot;⟦«b62:24»⟧&quot;}",
    "to=3D⟦AKIA«up:16»⟧",
    "x=20⟦glpat-«b62:20»⟧",
    "Bearer%20⟦«b62:40»⟧",
    "%20⟦«dig:10»:AAH«b62:32»⟧",
];

/// Templates of texts with the same escapes that stay as they are.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "«esc»[32mcommit «hex:40»«esc»[0m",
    "«esc»[1m«esc»[32m   Compiling«esc»[0m base v0.1.0",
    "«esc»[31m-    let token = parse(input);«esc»[0m",
    "\"token\"«esc»[0m: «esc»[33mnull«esc»[0m",
    "max_tokens«esc»[2m=«esc»[0m4096",
    "naïve «zwsp»words and so«shy»ft hyphens",
    "«bom»# Title\n\nThe token is parsed next.\n",
    "a\\nskip\\tACCEPTED\\nSKIP",
    "C:\\new\\tokens\\access",
    "q=a%20b%3Dc&page=2",
    "%22name%22%3A%22Bob%22",
    "&quot;token&quot; is a word",
    "printf '\\033[31mred\\033[0m\\n'",
    "x=3D1 and =20 at the end",
    "👩‍🚀 goes ❤️ to the moon",
];

fn expand(template: &str, seed: usize) -> String {
    samples::expand(&template.replace("«bel»", "\u{7}"), seed as u64)
}

/// Whether any eight letters and digits of the secret that stand together remain.
fn remains(secret: &str, clean: &str) -> bool {
    let runs = secret.split(|c: char| !c.is_ascii_alphanumeric()).filter(|run| run.len() >= 8);
    runs.into_iter()
        .any(|run| clean.contains(run.get(..8).unwrap()) || clean.contains(run.get(run.len() - 8..).unwrap()))
}

#[test]
fn a_secret_is_found_behind_escapes_and_invisible_characters() {
    let redactor = Redactor::patterns_only();
    let mut missed = Vec::new();
    for (seed, template) in HIDDEN.iter().enumerate() {
        let marked = expand(template, seed);
        let text = marked.replace(['⟦', '⟧'], "");
        let secret = marked.split_once('⟦').unwrap().1.split_once('⟧').unwrap().0;
        let clean = redactor.text(&text).into_owned();
        if remains(secret, &clean) || !clean.contains("[REDACTED:") {
            missed.push(format!("{template}\n    {text:?}\n    -> {clean:?}"));
        }
        assert_eq!(redactor.text(&clean), clean, "a second pass changes nothing");
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn harmless_texts_with_escapes_stay() {
    let redactor = Redactor::patterns_only();
    for (seed, template) in HARMLESS.iter().enumerate() {
        let text = expand(template, seed);
        assert_eq!(redactor.text(&text), text);
    }
}

#[test]
fn escapes_in_pieces_are_redacted_as_in_the_whole() {
    let redactor = Arc::new(Redactor::patterns_only());
    for (seed, template) in HIDDEN.iter().chain(HARMLESS).enumerate() {
        let text = format!("{} and more\n", expand(template, seed).replace(['⟦', '⟧'], ""));
        let whole = redactor.text(&text).into_owned();
        for size in [1, 2, 5, 13] {
            let mut stream = StreamRedactor::new(redactor.clone());
            let mut out = String::new();
            for piece in text.chars().collect::<Vec<_>>().chunks(size) {
                stream.push(&piece.iter().collect::<String>());
                stream.drain(&mut out);
            }
            stream.finish(&mut out);
            assert_eq!(out, whole, "in pieces of {size}: {text:?}");
        }
    }
}

#[test]
fn a_view_maps_its_places_back() {
    let text = "a\u{1b}[1mbc\u{200b}ö\u{7f}d";
    let view = View::new(text, Backspace::Removed).unwrap();
    assert_eq!(view.text, "abcöd");
    assert_eq!(text.get(view.range_in_text(&(1..5))).unwrap(), "bc\u{200b}ö");
    assert_eq!(text.get(view.range_in_text(&(0..1))).unwrap(), "a");
    assert_eq!(text.get(view.range_in_text(&(5..6))).unwrap(), "d");
    assert!(view.is_joint(1) && view.is_joint(3) && !view.is_joint(2));
    assert!(View::all("plain text, ünd \"Wörter\"\n").next().is_none());
    let erased: Vec<String> = View::all("pa\u{8}ab\u{8}\u{8}x").map(|view| view.text).collect();
    assert_eq!(erased, ["paabx", "px"]);
}

proptest::proptest! {
    #[test]
    fn any_text_has_a_view_without_escapes(text in "[a \u{1b}\\[\\]0-9;m\u{8}\u{200b}\u{9b}ö\\\\nx1b\n\u{7}^]{0,40}") {
        for view in View::all(&text) {
            for (at, letter) in view.text.char_indices() {
                let place = view.to_text(at);
                proptest::prop_assert!(text.get(place..).unwrap().starts_with(letter));
            }
        }
        let redactor = Redactor::patterns_only();
        let clean = redactor.text(&text).into_owned();
        proptest::prop_assert_eq!(redactor.text(&clean), clean.as_str());
    }
}
