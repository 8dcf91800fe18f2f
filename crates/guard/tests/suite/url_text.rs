//! URLs in text are data: pointed out, never worse than medium, never changed.

use fullsend_guard::{Scanner as _, Severity, UrlScanner};

fn found(text: &str) -> Vec<(&'static str, Severity, &str)> {
    let scan = UrlScanner.scan(text);
    assert!(scan.edits.is_empty(), "{text}");
    let about = |finding: &fullsend_guard::Finding| {
        (finding.rule.id, finding.severity, finding.span.unwrap().of(text).unwrap())
    };
    scan.findings.iter().map(about).collect()
}

#[test]
fn private_places_are_low_and_metadata_or_disguises_medium() {
    let table = [
        ("see http://localhost:8080/x.", "blocked_hostname", Severity::Low, "http://localhost:8080/x"),
        ("[a](http://127.0.0.1:3000)", "blocked_ip", Severity::Low, "http://127.0.0.1:3000"),
        ("<http://192.168.0.1/>", "blocked_ip", Severity::Low, "http://192.168.0.1/"),
        ("[http://10.0.0.1]", "blocked_ip", Severity::Low, "http://10.0.0.1"),
        ("on http://[::1]:80, then", "blocked_ip", Severity::Low, "http://[::1]:80"),
        ("http://[::1]", "blocked_ip", Severity::Low, "http://[::1]"),
        ("http://db.internal", "blocked_hostname", Severity::Low, "http://db.internal"),
        (
            "'HTTP://169.254.169.254/latest'",
            "blocked_hostname",
            Severity::Medium,
            "HTTP://169.254.169.254/latest",
        ),
        (
            "http://metadata.google.internal/",
            "blocked_hostname",
            Severity::Medium,
            "http://metadata.google.internal/",
        ),
        ("http://0x7f000001/", "blocked_ip", Severity::Medium, "http://0x7f000001/"),
        ("http://0177.0.0.1/", "blocked_ip", Severity::Medium, "http://0177.0.0.1/"),
        ("http://example.com@10.0.0.1/", "blocked_ip", Severity::Medium, "http://example.com@10.0.0.1/"),
        ("http://loc\u{ad}alhost/", "blocked_hostname", Severity::Medium, "http://loc\u{ad}alhost/"),
        ("https://a.example@b.example/", "suspicious_url", Severity::Medium, "https://a.example@b.example/"),
        ("x=http://g\u{456}thub.com/;", "suspicious_url", Severity::Medium, "http://g\u{456}thub.com/"),
        ("ftp://example.org/pub", "blocked_scheme", Severity::Info, "ftp://example.org/pub"),
        ("gopher://127.0.0.1:25/x", "blocked_scheme", Severity::Low, "gopher://127.0.0.1:25/x"),
        ("redis://localhost:6379", "disallowed_scheme", Severity::Low, "redis://localhost:6379"),
        ("1http://10.0.0.1/", "blocked_ip", Severity::Low, "http://10.0.0.1/"),
        ("日本http://10.0.0.1/", "blocked_ip", Severity::Low, "http://10.0.0.1/"),
        (
            "https://e.example/?u=http://10.0.0.1/ ",
            "suspicious_url",
            Severity::Medium,
            "https://e.example/?u=http://10.0.0.1/",
        ),
    ];
    for (text, rule, severity, span) in table {
        assert_eq!(found(text), [(rule, severity, span)], "{text}");
    }
}

#[test]
fn ordinary_text_is_silent() {
    for text in [
        "",
        "://",
        "a://",
        "http://",
        "http:// x",
        "https://example.com/, https://example.org.",
        "https://例え.テスト.jp/ and https://bücher.example",
        "curl http://$HOST:$PORT/ or http://<host>/ or http://{host}:{port}/",
        "http://%s:%d/ and http://*/ and http://...",
        "http://192.0.2.1/ and http://[2001:db8::1]/ are for documents",
        "https://user:pass@example.com/x",
        "std::io, a//b, c:/d, 10.0.0.1 and localhost without a URL",
        "vscode://file/x and slack://open",
        "https://example.com:22/ and https://example.com\\x",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn many_findings_become_a_count() {
    let text = "http://10.0.0.1/ ".repeat(1000);
    let scan = UrlScanner.scan(&text);
    assert_eq!(scan.findings.len(), 201);
    assert_eq!(scan.findings.last().unwrap().detail(), "and 800 more");
}

#[test]
fn hostile_text_is_read_once() {
    // Each of these would take minutes if every mark were read to the end of the text.
    for piece in ["://", "a://", "http://a@", "http://[", "=//", "x://%25", "http:////", "\u{ff0e}://"] {
        let text = piece.repeat(200_000 / piece.len());
        let _no_hang = UrlScanner.scan(&text);
        let _no_hang_either = fullsend_guard::url::judge(&format!("http://a/{text}"));
        let _nor_here = fullsend_guard::url::judge(&text);
    }
}
