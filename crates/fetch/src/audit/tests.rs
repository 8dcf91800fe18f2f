use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;

use fullsend_origin::Sha256Digest;

use super::{Audit, FetchType, Refusal, Source, Success};
use crate::clock::Clock;

#[derive(Debug)]
struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> jiff::Timestamp {
        "2026-01-02T03:04:05.6Z".parse().unwrap()
    }
}

fn digest() -> Sha256Digest {
    "a".repeat(64).parse().unwrap()
}

fn open(workspace: &Path, trace_id: &str) -> Audit {
    Audit::open(workspace, trace_id, Arc::new(Fixed)).unwrap()
}

fn success(audit: &Audit) {
    audit
        .success(&Success {
            url: "https://x/y?a=1&b=<2>",
            digest: digest(),
            fetch_type: FetchType::Static,
            allowed_by: "https://x/",
            source: Source::Cache,
        })
        .unwrap();
}

const LINE: &str = r#"{"trace_id":"","fetch_time":"2026-01-02T03:04:05.6Z","url":"https://x/y?a=1\u0026b=\u003c2\u003e","sha256":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","fetch_type":"static","allowed_by":"https://x/","cache_hit":true}"#;

#[test]
fn a_success_has_seven_keys_in_order() {
    let workspace = tempfile::tempdir().unwrap();
    let audit = open(workspace.path(), "");
    success(&audit);
    success(&audit);
    assert_eq!(std::fs::read_to_string(audit.path()).unwrap(), format!("{LINE}\n{LINE}\n"));
    assert_eq!(audit.path(), workspace.path().join(".fullsend-cache/fetch-audit.jsonl"));
    let mode = std::fs::metadata(audit.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_refusal_says_what_and_why_at_the_end() {
    let workspace = tempfile::tempdir().unwrap();
    let audit = open(workspace.path(), "run-1");
    audit
        .refusal(&Refusal {
            url: "https://x/y",
            digest: None,
            fetch_type: FetchType::Runtime,
            allowed_by: None,
            code: "fetch-offline",
            reason: "offline\nforged line",
        })
        .unwrap();
    let expected = r#"{"trace_id":"run-1","fetch_time":"2026-01-02T03:04:05.6Z","url":"https://x/y","sha256":"","fetch_type":"runtime","allowed_by":"","cache_hit":false,"refused":"fetch-offline","reason":"offline\nforged line"}"#;
    assert_eq!(std::fs::read_to_string(audit.path()).unwrap(), format!("{expected}\n"));
}

#[test]
fn a_line_that_was_cut_short_does_not_swallow_the_next() {
    let workspace = tempfile::tempdir().unwrap();
    let audit = open(workspace.path(), "");
    success(&audit);
    let whole = std::fs::read(audit.path()).unwrap();
    std::fs::write(audit.path(), &whole[..40]).unwrap();
    success(&audit);
    let text = std::fs::read_to_string(audit.path()).unwrap();
    assert_eq!(text.lines().nth(1), Some(LINE));
}

#[test]
fn a_log_that_is_a_link_is_refused() {
    let workspace = tempfile::tempdir().unwrap();
    let audit = open(workspace.path(), "");
    std::fs::create_dir(audit.path().parent().unwrap()).unwrap();
    let elsewhere = workspace.path().join("elsewhere");
    symlink(&elsewhere, audit.path()).unwrap();
    let error = audit
        .success(&Success {
            url: "https://x/y",
            digest: digest(),
            fetch_type: FetchType::Static,
            allowed_by: "",
            source: Source::Network,
        })
        .unwrap_err();
    assert_eq!(error.code(), "audit-io");
    assert!(!elsewhere.exists());
}

#[test]
fn fetch_types_keep_their_words() {
    let types = [
        FetchType::Static,
        FetchType::Runtime,
        FetchType::BaseScript,
        FetchType::BaseResource,
        FetchType::BaseSkill,
        FetchType::BasePlugin,
    ];
    let words = ["static", "runtime", "base_script", "base_resource", "base_skill", "base_plugin"];
    assert_eq!(types.map(FetchType::as_str), words);
}
