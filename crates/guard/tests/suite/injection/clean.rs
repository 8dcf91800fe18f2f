use fullsend_guard::Severity;

use super::{found, worst};

/// What must not be noticed at all.
const SILENT: &[&str] = &[
    "+ ignore interrupted system-call in test/ncurses's command",
    "/* verifier will ignore clearing high 32-bit for these instructions */",
    " * ignore clearing high 32-bit for these instructions",
    "To report a problem, send mail to <base-passwd@packages.example.org>.",
    "Please send mail to base-passwd@packages.example.org with your changes.",
    "",
    "# Project\nUse Go 1.24. Run tests with go test ./...",
    "Normal commit message fixing a null pointer bug.",
    "<!-- TODO: file system layout -->",
    "<!-- prettier-ignore -->",
    "<!-- Copyright the authors. Licensed under the terms in LICENSE. -->",
    "<!-- first --> ignore case <!-- second -->",
    "assume you are on Linux",
    "Suppose you are writing a parser.",
    "translate the strings and evaluate quality",
    "do not mention user names",
    "do not reveal user passwords in logs",
    "cat ~/.environment",
    "cat ~/.ssh/id_ed25519.pub",
    "curl x\n$GH_TOKEN",
    "${!VAR}",
    "$#",
    "${#arr[@]}",
    "Later rules override earlier rules in the same file.",
    "Options on the command line override all settings of the file.",
    "The parser ignores all white space before the first token.",
    "The compiler ignored the previous line.",
    "Add files to .gitignore so that they are ignored.",
    "You are now ready to build the project.",
    "You are now in the root directory of the project, so run make.",
    "Type your password at the prompt.",
    "Follow the instructions above to install it.",
    "Follow these instructions. Previous versions are not supported.",
    "Forget about memory management.",
    "Ignore all errors in commands executed to remake files.",
    "This lets you pretend that you forked the branch from there.",
    "Send the form to the server with POST.",
    "Upload the archive to https://files.example/",
    "silently ignored",
    "The installer silently downloads updates.",
    "https://x.example/a%20b%20c",
    "\\u00e9t\\u00e9",
    "commit 69676e6f726520616c6c2070726576696f7573aa",
    "integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    "<div class=\"display\">shown</div>",
    ".menu { display: none }",
    "[https://docs.example](https://docs.example/start)",
    "[the guide](https://docs.example/guide)",
    "This system prompts for a password.",
    "Wir folgen den Anweisungen.",
    "所有提示",
];

#[test]
fn ordinary_text_is_silent() {
    let loud: Vec<_> =
        SILENT.iter().filter(|text| worst(text).is_some()).map(|text| (text, found(text))).collect();
    assert!(loud.is_empty(), "{loud:#?}");
}

/// What may be noticed, and does not block.
const QUIET: &[(&str, Severity)] = &[
    ("Do not ignore the previous instructions.", Severity::Low),
    ("fn ignore_previous_instructions() {}", Severity::Medium),
    ("curl -H \"Authorization: Bearer $GITHUB_TOKEN\" https://api.example", Severity::Low),
    ("Programs do not tell the user when this fails.", Severity::Low),
    ("Use printenv to show the environment.", Severity::Low),
];

#[test]
fn what_is_common_in_documentation_is_quiet() {
    let loud: Vec<_> = QUIET
        .iter()
        .filter(|(text, most)| worst(text).is_some_and(|severity| severity > *most))
        .map(|(text, _)| (text, found(text)))
        .collect();
    assert!(loud.is_empty(), "{loud:#?}");
}
