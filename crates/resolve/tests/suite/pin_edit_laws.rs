//! Laws of editing, for any document.

use fullsend_origin::Sha256Digest;
use fullsend_resolve::pin_edit::set_pin;
use proptest::prelude::*;

const URL: &str = "https://x.example/a";

fn digest(letter: &str) -> Sha256Digest {
    letter.repeat(64).parse().unwrap()
}

fn pinned(letter: &str) -> String {
    format!("{URL}#sha256={}", digest(letter))
}

/// Elements of a list before and after the edit. In a shape, `@` is a use of the URL, `~` only looks like one.
fn any_line() -> impl Strategy<Value = (String, String)> {
    let shape = prop::sample::select(vec![
        "- @",
        "-   @  ",
        "- '@' # ~",
        "- \"@\"",
        "- @: {k: @}",
        "- [@, x, '@']",
        "- k: @",
        "# ~",
        "",
        "- see ~",
        "- |\n  ~\n  ~",
        "- >-\n  @",
        "- {a: \"@\", b: @, c: ~b}",
        "- ? @\n  : @",
        "- ~#s",
        "- ~/b: @",
    ]);
    let old = prop::sample::select(vec![
        URL.to_owned(),
        pinned("0"),
        pinned("d"),
        format!("{URL}#sha256=1"),
        format!("{URL}#Sha256-"),
    ]);
    (shape, old).prop_map(|(shape, old)| {
        let same = shape.replace('~', URL);
        (same.replace('@', &old), same.replace('@', &pinned("d")))
    })
}

prop_compose! {
    /// A document before and after the edit.
    fn any_document()(
        lines in prop::collection::vec(any_line(), 0..8),
        end in prop::sample::select(vec!["\n", "\r\n"]),
        start in prop::sample::select(vec!["", "\u{feff}", "---\n"]),
        last in prop::sample::select(vec!["", "\n"]),
    ) -> (String, String) {
        let (before, after): (Vec<_>, Vec<_>) = lines.into_iter().unzip();
        let whole = |lines: Vec<String>, first| {
            format!("{start}- {first}\n{}{last}", lines.join("\n")).replace('\n', end)
        };
        (whole(before, URL), whole(after, &pinned("d")))
    }
}

proptest! {
    #[test]
    fn exactly_the_uses_change((before, after) in any_document()) {
        let edited = set_pin(&before, URL, digest("d")).unwrap();
        prop_assert_eq!(&edited.text, &after);
        let again = set_pin(&after, &pinned("0"), digest("d")).unwrap();
        prop_assert_eq!((&again.text, again.changes.len()), (&after, 0));
        let other = set_pin(&after, URL, digest("e")).unwrap().text;
        prop_assert_eq!(set_pin(&other, URL, digest("d")).unwrap().text, after);
    }

    #[test]
    fn any_text_is_edited_or_refused(text in "[ -~\n\r\t\u{feff}é]{0,60}", at in 0_usize..60) {
        let mut text = text;
        let at = text.floor_char_boundary(at);
        text.insert_str(at, URL);
        if let Ok(edited) = set_pin(&text, URL, digest("d")) {
            prop_assert_eq!(edited.text.replace(&pinned("d"), URL), text);
        }
    }
}
