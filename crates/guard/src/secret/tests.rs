use super::name::{Promise, promise};
use super::{Runs, SecretScanner, check};
use crate::Scanner;

#[test]
fn names_promise_by_whole_words() {
    let table = [
        ("api_key", Some(Promise::Secret)),
        ("apiKey", Some(Promise::Secret)),
        ("APIKey", Some(Promise::Secret)),
        ("X-Api-Key", Some(Promise::Secret)),
        ("My_Secret_Key", Some(Promise::Secret)),
        ("DB_PASSWORD", Some(Promise::Password)),
        ("dbPasswd", Some(Promise::Password)),
        ("client-key-data", Some(Promise::Secret)),
        ("spring.datasource.password", Some(Promise::Password)),
        ("Authorization", Some(Promise::Header)),
        ("KEY", Some(Promise::Maybe)),
        ("auth", Some(Promise::Maybe)),
        ("author", None),
        ("authority", None),
        ("keyboard", None),
        ("monkey", None),
        ("tokenizer", None),
        ("tokens", None),
        ("max_tokens", None),
        ("public_key", None),
        ("primaryKey", None),
        ("token_type", None),
        ("secret_name", None),
    ];
    for (name, expected) in table {
        assert_eq!(promise(name), expected, "{name}");
    }
}

#[test]
fn the_checksum_is_the_one_that_github_uses() {
    assert!(check::checksum_fits("zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17"));
    assert!(!check::checksum_fits("zQWBuTSOoRi4A9spHcVY5ncnsDkxkK0mLq17"));
    assert!(!check::checksum_fits("zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq1"));
}

#[test]
fn a_run_is_read_once() {
    let mut runs = Runs::default();
    assert_eq!(runs.end(b"abc def", 0, super::run::Class::Alnum), 3);
    assert_eq!(runs.end(b"abc def", 2, super::run::Class::Alnum), 3);
    assert_eq!(runs.end(b"abc def", 3, super::run::Class::Alnum), 3);
    assert_eq!(runs.end(b"abc def", 4, super::run::Class::Alnum), 7);
}

/// Each of these once took time quadratic in its length, or would with a careless matcher.
#[test]
fn hostile_repetition_comes_to_an_end() {
    let bricks = [
        "key=",
        "key='",
        "token: \"",
        "ghp_",
        "sk-",
        "xoxb-",
        "eyJ",
        "_eyJ",
        "eyJ.",
        "://",
        "a://b:",
        "sig=",
        "password ",
        "bearer ",
        "-----BEGIN PRIVATE KEY-----",
        "a: -----BEGIN PRIVATE KEY-----\n",
        "AKIAQ3EGV7JZX2LWN5TB/",
        "12345678:",
        "{\"key\":",
        "[\"key=",
        "LS0tLS1CRUdJTi",
        "hooks.slack.com/services/",
        "keykey",
        "key: |\n",
        "login x password y ",
    ];
    for brick in bricks {
        let scan = SecretScanner::new().scan(&brick.repeat(100_000 / brick.len()));
        assert!(scan.findings.len() < 10_000, "{brick}");
    }
}
