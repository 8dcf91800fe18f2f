use proptest::prelude::{any, proptest};

use super::{Extract, Link, extract};

fn read(page: &str) -> Extract {
    extract(page, 1000, |reference| reference.starts_with('/').then(|| format!("https://a.test{reference}")))
}

#[test]
fn text_is_what_a_reader_sees() {
    for (page, expected) in [
        ("<p>a</p><p>b&nbsp;c</p>x<br>y<li>1</li><li>2</li>", "a\nb c\nx\ny 1\n2"),
        ("&#x41;&#66;&copy;&lt;b&gt;", "AB\u{a9}<b>"),
        ("a<!-- no -->b<script>if (a < b) {}</script>c<STYLE>p{}</STYLE>d", "abcd"),
        ("<script>x</script\n>a<script>'</scriptx>'</script>b", "ab"),
        ("a<svg><title>no</title><svg>x</svg>y</svg>b<svg/>c<noscript>no</noscript>d", "abcd"),
        ("<template>no<template>no</template>no</template>yes", "yes"),
        ("  a \n\n\t b  ", "a b"),
        ("<div><div><p></p></div></div>a", "a"),
        ("a<b>c</b>d", "a c d"),
        ("<", "<"),
        ("<a href=x", ""),
        ("a\0b", "a\u{2400}b"),
        ("", ""),
    ] {
        assert_eq!(read(page).text, expected, "{page}");
    }
}

#[test]
fn titles_and_links_are_found_as_they_are_written() {
    let page = "<title>One\n &amp; only</title><svg><title>no</title></svg><title>two</title>\
        <A class=x HREF='/a?x=1&amp;y=2'>first <b>link</b></A><a href=/b>open<a href=\"mailto:x\">no</a>\
        <a>no</a><a href=/c href=/d></a><a href=/e>last";
    let found = read(page);
    assert_eq!(found.title.as_deref(), Some("One & only"));
    let link = |text: &str, href: &str| Link { text: text.to_owned(), href: format!("https://a.test{href}") };
    let expected = [link("first link", "/a?x=1&y=2"), link("open", "/b"), link("", "/c"), link("last", "/e")];
    assert_eq!(found.links, expected);
}

#[test]
fn limits_hold() {
    let cut = extract("<p>ab cd</p>", 4, |_| None);
    assert_eq!((cut.text.as_str(), cut.truncated), ("ab c", true));
    assert!(!extract("<p>abcd</p> \n", 4, |_| None).truncated);
    let many = read(&"<a href=/x>y</a>".repeat(60));
    assert_eq!(many.links.len(), 50);
    let long = read(&format!("<title>{}</title>", "t".repeat(1000)));
    assert_eq!(long.title.unwrap().len(), 300);
}

#[test]
fn depth_and_repetition_cost_nothing_extra() {
    // Quadratic work on any of these would not end while somebody waits.
    for part in [
        "<div>",
        "<ul><li>",
        "<a href=/x>",
        "<svg>",
        "<",
        "&",
        "<!--",
        "</",
        "<a ",
        "<title>",
        "&#",
        "<script>",
    ] {
        let page = part.repeat(400_000 / part.len());
        let found = extract(&page, 100_000, |_| Some(String::new()));
        assert!(found.text.len() <= 400_000, "{part}");
    }
}

proptest! {
    #[test]
    fn no_page_is_too_odd(parts in proptest::collection::vec(any::<(u8, char)>(), 0..60)) {
        let words = ["<a href=", "<title>", "</title>", "<script>", "</script>", "<svg", "/>", ">", "<!--", "&amp", "</a>", "'"];
        let page: String = parts
            .iter()
            .map(|(pick, other)| words.get(usize::from(*pick) % 16).map_or_else(|| other.to_string(), |word| (*word).to_owned()))
            .collect();
        let found = extract(&page, 20, |reference| Some(reference.to_owned()));
        assert!(found.text.chars().count() <= 20);
        assert!(!found.text.contains("\n\n") && !found.text.starts_with([' ', '\n']));
    }
}
