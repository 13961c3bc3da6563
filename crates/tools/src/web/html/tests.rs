use super::*;
use reqwest::Url;
use std::time::Duration;

fn base() -> Url {
    Url::parse("https://example.com/a/b").unwrap()
}

fn plain(html: &str) -> String {
    let document = Document::parse(html);
    text(&document, &document.whole(), Style::Plain, &base())
}

#[test]
fn a_page_reads_like_text() {
    let page = plain(
        "<!doctype html><html><head><title>T &amp; t</title><style>x{}</style></head><body><h1>One</h1>\
         <p>Two <b>bold</b>\n   words<p>Three<ul><li>a<li>b <i>c</i></ul><table><tr><td>1<td>2<tr><td>3<td>4</table>\
         <pre>  keep\n   this</pre><script>var a = '<p>no</p>';</script><div hidden>secret</div>\
         <div style='Display : none'>hidden too</div>&eacute;&#x41;&#66;<br>next<img alt='a cat'>",
    );
    assert_eq!(
        page,
        "# One\n\nTwo bold words\n\nThree\n\n- a\n- b c\n1 | 2\n3 | 4\n  keep\n   this\néAB\nnext[image: a cat]"
    );
    assert_eq!(title(&Document::parse("<title> a\n b&lt; </title>")), "a b<");
}

#[test]
fn elements_with_too_many_attributes_lose_only_those() {
    let many: String = (0..400).map(|i| format!(" a{i}='>{i}'")).collect();
    let document = Document::parse(&format!("<p id=x title='é'>one<b{many}>two</b> <i é>three</i>"));
    assert_eq!(text(&document, &document.whole(), Style::Plain, &base()), "onetwo three");
    let bold = Selector::parse("b[a3='>3']").unwrap().select(&document).unwrap();
    assert_eq!(bold.len(), 1);
    assert!(Selector::parse("[a399]").unwrap().select(&document).unwrap().is_empty());
}

#[test]
fn links_are_absolute_and_listed_once() {
    let html = "<base href='/x/'><a href='y#z'>Y <b>why</b></a><a href='/x/y'>again</a><a href='javascript:1'>no</a>\
                <a href='mailto:a@b'>no</a><a href='#top'>no</a><a href='//other.example/'>o</a>";
    let document = Document::parse(html);
    let found = links(&document, &document.whole(), &base(), 10);
    assert_eq!(
        found,
        [
            ("Y why".to_string(), "https://example.com/x/y".to_string()),
            ("o".to_string(), "https://other.example/".to_string())
        ]
    );
    assert!(
        text(&document, &document.whole(), Style::Links, &base())
            .starts_with("Y why <https://example.com/x/y>")
    );
}

#[test]
fn selectors_select() {
    let html = "<div id=a class='x y'><p class=one lang=en-GB>1</p><p>2</p><span data-k='v w'>3</span></div>\
                <div class=y><section><p>4</p></section><em>5</em></div>";
    let document = Document::parse(html);
    for (selector, expected) in [
        ("p", "1 2 4"),
        ("div p", "1 2 4"),
        ("div > p", "1 2"),
        ("#a p.one", "1"),
        (".x.y > p + p", "2"),
        ("p ~ span", "3"),
        ("section > p, em", "4 5"),
        ("[data-k]", "3"),
        ("[data-k~=w]", "3"),
        ("span[data-k^='v']", "3"),
        ("[data-k$=\" w\"]", "3"),
        ("[data-k*='v w']", "3"),
        ("[lang|=en]", "1"),
        ("#a > :first-child", "1"),
        ("#a > *:last-child", "3"),
        ("#a > p:nth-child(2)", "2"),
        ("div.y section p", "4"),
        ("P.one", "1"),
        ("nothing", ""),
    ] {
        let found = Selector::parse(selector).unwrap().select(&document).unwrap();
        let words: Vec<String> =
            found.iter().map(|id| text(&document, &[*id], Style::Plain, &base())).collect();
        assert_eq!(words.join(" "), expected, "{selector}");
    }
    for wrong in [
        "",
        "p >",
        "> p",
        "p[",
        "p[a",
        "p[a=",
        "p[a='x]",
        "p:hover",
        "p::before",
        "a,,b",
        "p{}",
        "p:nth-child(x)",
    ] {
        Selector::parse(wrong).expect_err(wrong);
    }
}

/// Every page of this kind must be read within a moment, and without growing out of proportion.
#[test]
fn pages_that_try_to_be_expensive_are_not() {
    let many_formats: String = (0..400).map(|i| format!("<b id=b{i}>")).collect();
    let pages = [
        "<div>".repeat(50_000),
        "<b>".repeat(40_000),
        format!("<p>{many_formats}{}", "<p>x".repeat(40_000)),
        "<table><tr><td>".repeat(40_000),
        "<a href=x>".repeat(50_000),
        "</div>".repeat(50_000),
        "<p>".repeat(40_000),
        "<!--".repeat(50_000),
        "<svg><math>".repeat(50_000),
        format!("<a{}>", (0..40_000).map(|i| format!(" b{i}")).collect::<String>()),
        format!("<a b='{}'>", "x ".repeat(250_000)),
        (0..40_000).fold("<a".to_string(), |page, i| page + &format!("/'b{i}")),
        (0..40_000).fold("<a =\"".to_string(), |page, i| page + &format!(" b{i}")),
        (0..40_000).fold("<a".to_string(), |page, i| {
            page + &format!(" b{i}{}", if i % 1900 == 0 { "><a =\"" } else { "" })
        }),
        (0..40_000).fold("<a".to_string(), |page, i| page + &format!(" b{i}=\"\"")),
        "&".repeat(250_000),
        "<script>".repeat(50_000),
        "<ul><li>".repeat(50_000),
        "\0<\0div>".repeat(50_000),
    ];
    for page in pages {
        let started = marvin_testing::CpuTimer::start();
        let document = Document::parse(&page);
        let words = text(&document, &document.whole(), Style::Links, &base());
        let start: String = page.chars().take(12).collect();
        assert!(words.len() <= 3 * page.len(), "{start}: {}", words.len());
        Selector::parse("div div div div div > div + div").unwrap().select(&document).ok();
        document.main_part();
        links(&document, &document.whole(), &base(), 100);
        assert!(started.elapsed() < Duration::from_secs(20), "{start}: {:?}", started.elapsed());
    }
}
