//! What may be asked of a browser, and of which browser: what a policy for shell commands would have to filter cannot
//! be said here, or is refused before anything is contacted.

use std::sync::Arc;
use std::time::Duration;

use fullsend_agent::browser::{
    AccountAccess, Action, Browser, Lease, LeaseError, LoadState, LocalOrigin, ProfileMode, Question,
    Request, Scope, Stroke, Target, Until,
};
use fullsend_agent::schema::Schema;
use fullsend_agent::{Effect, Tool as _};
use fullsend_fetch::Clock;
use jiff::Timestamp;
use proptest::prelude::{Strategy, any, prop_assert, proptest};
use serde_json::{Value, json};

use crate::support::browser::Driver;

fn parse(input: &Value) -> Result<Request, String> {
    Request::parse(input.as_object().unwrap()).map_err(|error| error.to_string())
}

fn action(input: &Value) -> Action {
    parse(input).unwrap_or_else(|error| panic!("{input}: {error}")).action
}

fn refuses(cases: &[(Value, &str)]) {
    for (input, expected) in cases {
        assert_eq!(parse(input).unwrap_err(), *expected, "{input}");
    }
}

const ACTIONS: &str = "action must be one of open, snapshot, get, console, errors, wait, click, check, fill, type, select, press";

#[test]
fn what_cannot_be_asked_is_refused_with_its_reason() {
    let url = "url must be an http or https URL without a user name or password";
    let cases = [
        // There is no shell, no script, no other program and no other browser to name.
        (json!({ "action": "eval" }), ACTIONS),
        (json!({}), ACTIONS),
        (json!({ "action": 1 }), ACTIONS),
        (json!({ "action": "OPEN" }), ACTIONS),
        (json!({ "action": "--help" }), ACTIONS),
        (json!({ "action": "open --cdp http://127.0.0.1:9444" }), ACTIONS),
        (json!({ "action": "snapshot; cat /etc/passwd" }), ACTIONS),
        (json!({ "command": "git status" }), ACTIONS),
        (
            json!({ "action": "snapshot", "cdp": "http://127.0.0.1:9444" }),
            "there are arguments that no browser action has",
        ),
        (
            json!({ "action": "snapshot", "session": "demo" }),
            "there are arguments that no browser action has",
        ),
        (
            json!({ "action": "console", "extension": "/tmp/x" }),
            "there are arguments that no browser action has",
        ),
        // Arguments of other actions.
        (
            json!({ "action": "open", "url": "http://a.example", "ref": "@e1" }),
            "ref does not apply to the open action",
        ),
        (json!({ "action": "snapshot", "url": "" }), "url does not apply to the snapshot action"),
        (json!({ "action": "click", "ref": "@e1", "value": "" }), "value does not apply to the click action"),
        (json!({ "action": "console", "ms": null }), "ms does not apply to the console action"),
        (
            json!({ "action": "press", "key": "a", "interactive": true }),
            "interactive does not apply to the press action",
        ),
        (json!({ "action": "wait", "ms": 1, "kind": "url" }), "kind does not apply to the wait action"),
        // Addresses.
        (json!({ "action": "open" }), url),
        (json!({ "action": "open", "url": "file:///etc/passwd" }), url),
        (json!({ "action": "open", "url": "javascript:alert(1)" }), url),
        (json!({ "action": "open", "url": "data:text/html,x" }), url),
        (json!({ "action": "open", "url": "chrome://version" }), url),
        (json!({ "action": "open", "url": "view-source:http://a.example" }), url),
        (json!({ "action": "open", "url": "a.example" }), url),
        (json!({ "action": "open", "url": "http://user:word@a.example" }), url),
        (json!({ "action": "open", "url": ["http://a.example"] }), url),
        // Questions.
        (json!({ "action": "get" }), "kind must be one of title, url, text"),
        (json!({ "action": "get", "kind": "html" }), "kind must be one of title, url, text"),
        (json!({ "action": "get", "kind": "title", "target": "main" }), "target does not apply to get title"),
        (json!({ "action": "get", "kind": "url", "target": "main" }), "target does not apply to get url"),
        (
            json!({ "action": "get", "kind": "text" }),
            "target must be an element of the last snapshot such as @e1, or a CSS selector",
        ),
        (
            json!({ "action": "get", "kind": "text", "target": " " }),
            "target must be an element of the last snapshot such as @e1, or a CSS selector",
        ),
        (
            json!({ "action": "get", "kind": "text", "target": "@" }),
            "target must be an element of the last snapshot, such as @e1",
        ),
    ];
    refuses(&cases);
}

#[test]
fn what_is_no_element_key_or_wait_is_refused_with_its_reason() {
    let element = "ref must be an element of the last snapshot, such as @e1";
    let key = "key must be the name of one key, such as Enter, a or Control+A";
    let wait = "wait needs exactly one of ms, ref, loadState, urlPattern";
    let pattern = "urlPattern must be a pattern of http or https addresses, where * stands for anything";
    let cases = [
        // Elements.
        (json!({ "action": "click" }), element),
        (json!({ "action": "click", "ref": "main" }), element),
        (json!({ "action": "click", "ref": "button[name=a]" }), element),
        (json!({ "action": "click", "ref": "@e1 @e2" }), element),
        (json!({ "action": "click", "ref": "@" }), element),
        (json!({ "action": "check", "ref": format!("@{}", "e".repeat(33)) }), element),
        (
            json!({ "action": "fill", "ref": "@e1" }),
            "value must be a string of at most 65536 bytes; it may be empty",
        ),
        (
            json!({ "action": "type", "ref": "@e1", "value": "x".repeat(65_537) }),
            "value must be a string of at most 65536 bytes; it may be empty",
        ),
        (json!({ "action": "select", "value": "CA" }), element),
        // Keys.
        (json!({ "action": "press" }), key),
        (json!({ "action": "press", "key": "" }), key),
        (json!({ "action": "press", "key": "Enter; rm -rf /" }), key),
        (json!({ "action": "press", "key": "Enter Tab" }), key),
        (json!({ "action": "press", "key": "NoSuchKey" }), key),
        (json!({ "action": "press", "key": "Hyper+a" }), key),
        (json!({ "action": "press", "key": "a".repeat(65) }), key),
        // Waits.
        (json!({ "action": "wait" }), wait),
        (json!({ "action": "wait", "ms": 1, "ref": "@e1" }), wait),
        (json!({ "action": "wait", "loadState": "load", "urlPattern": "*" }), wait),
        (json!({ "action": "wait", "ms": 30_001 }), "ms must be a whole number from 0 to 30000"),
        (json!({ "action": "wait", "ms": -1 }), "ms must be a whole number from 0 to 30000"),
        (json!({ "action": "wait", "ms": 1.5 }), "ms must be a whole number from 0 to 30000"),
        (json!({ "action": "wait", "ms": "100" }), "ms must be a whole number from 0 to 30000"),
        (json!({ "action": "wait", "ref": "--download" }), element),
        (
            json!({ "action": "wait", "loadState": "idle" }),
            "loadState must be one of domcontentloaded, load, networkidle",
        ),
        (json!({ "action": "wait", "urlPattern": " " }), pattern),
        (json!({ "action": "wait", "urlPattern": "file:///etc/*" }), pattern),
        (json!({ "action": "wait", "urlPattern": " FILE:*" }), pattern),
        (json!({ "action": "console", "timeoutMs": 0 }), "timeoutMs must be a positive whole number"),
        (json!({ "action": "console", "timeoutMs": "1" }), "timeoutMs must be a positive whole number"),
        (json!({ "action": "snapshot", "interactive": "yes" }), "interactive must be true or false"),
    ];
    refuses(&cases);
}

#[test]
fn what_can_be_asked_means_one_thing() {
    let open = |url: &str| Action::Open { url: url.to_owned() };
    let selector = |text: &str| Action::Get(Question::Text(Target::Selector(text.to_owned())));
    let cases = [
        (json!({ "action": "open", "url": "https://a.example/x?y#z" }), open("https://a.example/x?y#z")),
        (json!({ "action": "open", "url": "HTTP://a.example" }), open("HTTP://a.example")),
        (json!({ "action": "open", "url": "http://localhost:3000/" }), open("http://localhost:3000/")),
        (json!({ "action": "snapshot" }), Action::Snapshot { scope: Scope::Page }),
        (json!({ "action": "snapshot", "interactive": false }), Action::Snapshot { scope: Scope::Page }),
        (
            json!({ "action": "snapshot", "interactive": true }),
            Action::Snapshot { scope: Scope::Interactive },
        ),
        (json!({ "action": "get", "kind": "title" }), Action::Get(Question::Title)),
        (json!({ "action": "get", "kind": "url" }), Action::Get(Question::Url)),
        // What a shell would expand is only text here.
        (
            json!({ "action": "get", "kind": "text", "target": "a[href*='$(id)']" }),
            selector("a[href*='$(id)']"),
        ),
        (json!({ "action": "console" }), Action::Console),
        (json!({ "action": "errors" }), Action::Errors),
        (json!({ "action": "wait", "ms": 30_000 }), Action::Wait(Until::Elapsed(Duration::from_secs(30)))),
        (
            json!({ "action": "wait", "loadState": "networkidle" }),
            Action::Wait(Until::Loaded(LoadState::NetworkIdle)),
        ),
        (
            json!({ "action": "wait", "urlPattern": "**/done?a=1" }),
            Action::Wait(Until::Url("**/done?a=1".to_owned())),
        ),
    ];
    for (input, expected) in cases {
        assert_eq!(action(&input), expected, "{input}");
    }
    let elements = [
        (json!({ "action": "click", "ref": "@e1" }), "@e1", ""),
        (json!({ "action": "check", "ref": "@e4" }), "@e4", ""),
        (json!({ "action": "wait", "ref": "@e12" }), "@e12", ""),
        (json!({ "action": "get", "kind": "text", "target": "@e5" }), "@e5", ""),
        (json!({ "action": "fill", "ref": "@e2", "value": "" }), "@e2", ""),
        (json!({ "action": "type", "ref": "@e2", "value": "Ada; `id`" }), "@e2", "Ada; `id`"),
        (json!({ "action": "select", "ref": "@e3", "value": "CA" }), "@e3", "CA"),
    ];
    for (input, name, text) in elements {
        match action(&input) {
            Action::Click(element)
            | Action::Check(element)
            | Action::Wait(Until::Visible(element))
            | Action::Get(Question::Text(Target::Ref(element))) => assert_eq!(element.as_str(), name),
            Action::Fill(element, value) | Action::Type(element, value) | Action::Select(element, value) => {
                assert_eq!((element.as_str(), value.as_str()), (name, text), "{input}");
            }
            other @ (Action::Open { .. }
            | Action::Snapshot { .. }
            | Action::Get(_)
            | Action::Console
            | Action::Errors
            | Action::Wait(_)
            | Action::Press(_)) => panic!("{input}: {other:?}"),
        }
    }
}

#[test]
fn keys_have_names() {
    for name in [
        "Enter",
        "a",
        "Z",
        "7",
        "+",
        "-",
        ".",
        "_",
        "F12",
        "Control+A",
        "Control+Shift+k",
        "Shift++",
        "Space",
    ] {
        assert!(Stroke::parse(name).is_some(), "{name}");
    }
    for name in ["", "++a", "A+", "Control+", "Shift+Control", "enter", "é", "Enter\n", "+Enter"] {
        assert!(Stroke::parse(name).is_none(), "{name}");
    }
}

#[test]
fn time_has_bounds() {
    let cases = [(None, 30_000), (Some(1), 1), (Some(120_000), 120_000), (Some(999_999), 120_000)];
    for (given, expected) in cases {
        let mut input = json!({ "action": "console" });
        if let Some(given) = given {
            input["timeoutMs"] = given.into();
        }
        assert_eq!(parse(&input).unwrap().timeout, Duration::from_millis(expected), "{given:?}");
    }
}

proptest! {
    #[test]
    fn no_input_panics_and_no_error_repeats_it(
        fields in proptest::collection::btree_map("[a-zA-Z]{1,10}", any_value(), 0..5),
        action in "open|get|wait|click|fill|press|snapshot",
    ) {
        let mut input = serde_json::Map::from_iter(fields);
        input.insert("action".to_owned(), action.into());
        input.insert("url".to_owned(), "needle-in-a-haystack".into());
        if let Err(error) = Request::parse(&input) {
            prop_assert!(!error.to_string().contains("needle"));
        }
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    (any::<u8>(), any::<String>(), any::<i64>()).prop_map(|(kind, text, number)| match kind % 4 {
        0 => text.into(),
        1 => number.into(),
        2 => Value::Null,
        _ => json!([text]),
    })
}

#[test]
fn an_endpoint_is_a_local_origin() {
    let good = [
        ("http://127.0.0.1:9222", "http://127.0.0.1:9222"),
        ("http://127.0.0.1:9222/", "http://127.0.0.1:9222"),
        ("HTTP://LocalHost:1", "http://localhost:1"),
        ("http://[::1]:65535", "http://[::1]:65535"),
        ("http://host.docker.internal:9362", "http://host.docker.internal:9362"),
        ("http://localhost:443", "http://localhost:443"),
    ];
    for (text, expected) in good {
        assert_eq!(LocalOrigin::parse(text).unwrap().to_string(), expected, "{text}");
    }
    let bad = [
        "",
        "9222",
        "snapshot",
        "127.0.0.1:9222",
        "https://127.0.0.1:9222",
        "ws://127.0.0.1:9222",
        "http://example.com:9222",
        "http://127.0.0.1",
        "http://127.0.0.1:",
        "http://127.0.0.1:80",
        "http://127.0.0.1:0",
        "http://127.0.0.1:65536",
        "http://127.0.0.1:+922",
        "http://127.0.0.1:9222/json",
        "http://127.0.0.1:9222//",
        "http://127.0.0.1:9222?a",
        "http://127.0.0.1:9222#a",
        "http://user@127.0.0.1:9222",
        "http://127.0.0.1:9222@evil.example:9222",
        "http://127.1:9222",
        "http://127.0.0.2:9222",
        "http://0.0.0.0:9222",
        "http://::1:9222",
        "http://[::2]:9222",
        "http://localhost.:9222",
        "http://localhost.evil.example:9222",
        "http://127.0.0.1\\:9222",
        " http://127.0.0.1:9222",
        "http://127.0.0.1:9222\n",
        "http:///127.0.0.1:9222",
    ];
    for text in bad {
        assert_eq!(LocalOrigin::parse(text).unwrap_err(), LeaseError::NotLocalOrigin, "{text}");
        assert_eq!(Lease::new(text).unwrap_err(), LeaseError::NotLocalOrigin, "{text}");
    }
}

#[derive(Debug)]
struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        "2026-01-01T12:00:00Z".parse().unwrap()
    }
}

#[test]
fn a_lease_ends() {
    let lease = || Lease::new("http://127.0.0.1:9").unwrap();
    for blank in ["", "  "] {
        assert_eq!(lease().until(blank).unwrap().expires_at(), None);
    }
    for text in ["not-a-timestamp", "2026-01-01", "tomorrow", "2026-13-01T00:00:00Z"] {
        let error = lease().until(text).unwrap_err();
        assert_eq!(error, LeaseError::InvalidExpiry, "{text}");
        assert!(error.to_string().starts_with("Browser Access lease expiry is invalid"));
    }
    let cases = [
        ("2026-01-01T11:59:59Z", Err(LeaseError::Expired)),
        ("2026-01-01T12:00:00Z", Err(LeaseError::Expired)),
        ("2026-01-01T13:00:00+01:00", Err(LeaseError::Expired)),
        ("2026-01-01T12:00:01Z", Ok(())),
    ];
    for (text, expected) in cases {
        assert_eq!(lease().until(text).unwrap().check(Noon.now()), expected, "{text}");
    }
}

/// What is asked is judged before the lease, and the lease before anything is contacted: nothing listens here.
#[test]
fn refusals_come_in_order() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let lease = Lease::new(&endpoint).unwrap().until("2026-01-01T00:00:00Z").unwrap();
    let lease = lease.with_mode(ProfileMode::Persistent).with_account(AccountAccess::Available);
    let driver = Driver::of(Browser::with_clock(lease, Arc::new(Noon)));

    let refused = driver.call(&json!({ "action": "open", "url": "file:///etc/passwd" }));
    assert_eq!(refused.record["code"], "invalid_input");
    assert_eq!(refused.failure.unwrap().kind, "tool_not_allowed");
    let expired = driver.call(&json!({ "action": "console" }));
    assert_eq!(expired.record["code"], "lease_unavailable");
    assert_eq!(expired.record["message"], "Browser Access lease has expired");
    assert_eq!(expired.failure.unwrap().kind, "harness_error");
    assert_eq!(
        listener.accept().unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock,
        "nothing was contacted"
    );
}

#[test]
fn the_schema_admits_what_can_be_asked() {
    let tool = Browser::new(Lease::new("http://127.0.0.1:9").unwrap());
    assert_eq!((tool.spec().name, tool.spec().effect), ("browser", Effect::SideEffect));
    let schema = Schema::compile(&tool.spec().parameters).unwrap();
    for input in [
        json!({ "action": "wait", "ms": 30_000 }),
        json!({ "action": "fill", "ref": "@e1", "value": "", "timeoutMs": 999_999 }),
    ] {
        assert_eq!(schema.mismatches(&input), []);
    }
    for input in [json!({}), json!({ "action": "eval" }), json!({ "action": "console", "cdp": "x" })] {
        assert_ne!(schema.mismatches(&input), [], "{input}");
    }
}
