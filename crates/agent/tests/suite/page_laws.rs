//! What holds for every page, however it is made: texts of pages, and snapshots of what browsers show.

use fullsend_agent::browser::{Scope, describe};
use fullsend_agent::tools::web_fetch::html::extract;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Pages of pieces that mean something to whoever reads them.
fn pages() -> impl Strategy<Value = String> {
    let pieces = [
        "<p>",
        "</p>",
        "<a href=\"/x\">",
        "<a href=y",
        "</a>",
        "<title>",
        "</title>",
        "<script>",
        "</script>",
        "<svg>",
        "</svg>",
        "<template>",
        "<br>",
        "<td>",
        "<pre>",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<",
        ">",
        "</",
        "&amp;",
        "&#10;",
        "&#x2028;",
        "&nbsp;",
        "\n",
        "\r",
        "\t",
        " ",
        "\0",
        "word",
        "ü",
        "\u{2028}",
        "\"",
    ];
    let piece =
        prop_oneof![9 => proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => ".{0,6}"];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Answers of a browser: few nodes, which may refer to each other in any way.
fn trees() -> impl Strategy<Value = Value> {
    let word = || {
        let words =
            ["button", "link", "StaticText", "generic", "none", "a\n- link \"b\"", "\u{2028}", "\u{85}x", ""];
        prop_oneof![proptest::sample::select(words.to_vec()).prop_map(str::to_owned), ".{0,8}"]
    };
    let id = || (0_u8..6).prop_map(|id| id.to_string());
    let children = proptest::collection::vec(id(), 0..5);
    let node = (id(), word(), word(), word(), children, any::<bool>());
    let node = node.prop_map(|(id, role, name, value, children, named)| {
        let mut node = json!({
            "nodeId": id, "role": {"value": role}, "name": {"value": name}, "value": {"value": value},
            "childIds": children, "properties": [{"name": "checked", "value": {"value": name}}],
        });
        if named {
            node["backendDOMNodeId"] = json!(7);
        }
        node
    });
    proptest::collection::vec(node, 0..8).prop_map(|nodes| json!({ "nodes": nodes }))
}

proptest! {
    #[test]
    fn text_of_a_page_is_as_short_as_was_asked_and_without_empty_lines(page in pages(), most in 0_usize..80) {
        let found = extract(&page, most, |reference| Some(reference.to_owned()));
        prop_assert!(found.text.chars().count() <= most);
        prop_assert!(!found.text.lines().any(|line| line.trim().is_empty()), "{:?}", found.text);
        prop_assert!(found.links.len() <= 50);
        for label in found.links.iter().map(|link| &link.text).chain(&found.title) {
            prop_assert!(label.chars().count() <= 300 && !label.contains('\n'), "{label:?}");
        }
        let all = extract(&page, usize::MAX, |_| None);
        prop_assert!(!all.truncated && all.links.is_empty());
        prop_assert!(found.truncated || found.text == all.text, "{:?} of {:?}", found.text, all.text);
    }

    #[test]
    fn a_page_cannot_make_up_lines_of_a_snapshot(tree in trees()) {
        let nodes = tree["nodes"].as_array().unwrap().len();
        for scope in [Scope::Page, Scope::Interactive] {
            let page = describe(tree.clone(), scope).unwrap();
            if page != "(nothing to see)" {
                prop_assert!(page.lines().count() <= nodes, "{page}");
                for line in page.split(|one: char| one.is_control()) {
                    prop_assert!(line.trim_start().starts_with("- "), "{line:?}");
                }
            }
        }
    }
}
