//! Texts made to be slow: each unit, repeated, is the worst case of some careless scanner.

/// Each unit with its name.
pub(crate) fn units() -> Vec<(&'static str, String)> {
    let units: &[(&str, &str)] = &[
        ("zero-width spaces", "\u{200b}"),
        ("unterminated OSC", "\u{1b}]AAAA"),
        ("tag characters", "\u{e0041}"),
        ("combining marks", "\u{301}"),
        ("opening isolates", "\u{2067}"),
        ("variation selectors", "\u{fe01}"),
        ("override verbs", "ignore all "),
        ("half an override", "ignore the previous "),
        ("comment openers", "<!-- "),
        ("tags without end", "<div style=\"display:none\" "),
        ("markdown comments", "[//]: # ("),
        ("quotes", "\"'`"),
        ("one long base64 run", "aWdub3Jl"),
        ("base64 with spaces", "aWdub3JlIGFsbCBwcmV2aW91cw== "),
        ("percent escapes", "%69%67"),
        ("unicode escapes", "\\u0069"),
        ("hexadecimal", "69676e6f7265"),
        ("secret assignments", "password=hunter2secret\n"),
        ("token prefixes", "ghp_ghp_"),
        ("key openers", "-----BEGIN PRIVATE KEY-----\n"),
        ("connection strings", "postgres://u:p@"),
        ("JSON openers", "{\"a\":["),
        ("JSON strings", "\"\\u0061\","),
        ("YAML mappings", "- a: b\n  c: d\n"),
        ("JWT openers", "eyJhbGciOi."),
        ("Cyrillic look-alikes", "\u{456}gnor\u{435} "),
    ];
    units.iter().map(|(name, unit)| (*name, (*unit).to_owned())).collect()
}
