//! The browser tool with a real browser, on pages served from loopback.

use std::thread;
use std::time::Duration;

use fullsend_agent::browser::{AccountAccess, ProfileMode};
use fullsend_testkit::test_name;
use serde_json::{Value, json};

use crate::support::browser::Driver;
use crate::support::chromium::{Chromium, Site, page, redirect};

/// The name of the element whose line holds `words`.
fn named(snapshot: &str, words: &str) -> String {
    let line = snapshot.lines().find(|line| line.contains(words));
    let line = line.unwrap_or_else(|| panic!("no `{words}` in:\n{snapshot}"));
    line.rsplit(' ').next().unwrap().to_owned()
}

const FORM: &str = r#"<title>A form</title><h1>Register</h1>
<form action="/done"><label>Name <input name=name value=old></label><label>Note <textarea name=note></textarea></label>
<label>State <select name=state><option value=NY>New York</option><option value=CA>California</option></select></label>
<label>Agree <input type=checkbox name=agree></label><label>Born <input type=date name=born></label>
<label>Picture <input type=file name=picture></label>
<button>Send</button></form><p>Some text.</p><div id=editor contenteditable aria-label=Editor role=textbox>draft</div>
<button disabled>Off</button>
<script>console.log("hello", 7, {a: 1}); console.warn("careful");
addEventListener("keydown", (event) => { if (event.key === "k" && event.ctrlKey) document.title = "pressed"; });
setTimeout(() => { undefinedThing(); });</script>"#;

#[test]
fn a_form_is_read_filled_and_sent() {
    let Some(chromium) = Chromium::start(test_name!()) else { return };
    let site = Site::start(&[("/form", page(FORM)), ("/done", page("<title>Done</title>"))]);
    let driver = Driver::new(chromium.lease());

    assert_eq!(driver.ok(json!({ "action": "get", "kind": "url" })), "about:blank");
    let opened = driver.ok(json!({ "action": "open", "url": site.url("/form") }));
    assert_eq!(opened, format!("A form\n{}", site.url("/form")));
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "title" })), "A form");

    let whole = driver.ok(json!({ "action": "snapshot" }));
    for words in ["heading \"Register\" [level=1] @e", "text \"Some text.\"", "button \"Off\" [disabled] @e"]
    {
        assert!(whole.contains(words), "{words} in:\n{whole}");
    }
    let stale = named(&whole, "button \"Send\"");
    let seen = driver.ok(json!({ "action": "snapshot", "interactive": true }));
    assert!(!seen.contains("heading") && !seen.contains("text \"Some"), "{seen}");
    assert!(seen.contains("textbox \"Name\" [value=\"old\"]"), "{seen}");
    let (code, message) = driver.error(json!({ "action": "click", "ref": stale }));
    assert_eq!(code, "command_failed");
    assert_eq!(message, format!("{stale} is not in the last snapshot of this page; take a new snapshot"));

    let name = named(&seen, "textbox \"Name\"");
    driver.ok(json!({ "action": "fill", "ref": name, "value": "Ada" }));
    driver.ok(json!({ "action": "type", "ref": name, "value": " L" }));
    driver.ok(json!({ "action": "fill", "ref": named(&seen, "textbox \"Note\""), "value": "two\nlines" }));
    driver.ok(json!({ "action": "select", "ref": named(&seen, "\"State\""), "value": "California" }));
    let box_ref = named(&seen, "checkbox");
    driver.ok(json!({ "action": "check", "ref": box_ref }));
    driver.ok(json!({ "action": "check", "ref": box_ref }));
    driver.ok(json!({ "action": "fill", "ref": named(&seen, "\"Born\""), "value": "1815-12-10" }));
    driver.ok(json!({ "action": "fill", "ref": named(&seen, "\"Editor\""), "value": "final" }));
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "text", "target": "#editor" })), "final");
    driver.ok(json!({ "action": "fill", "ref": named(&seen, "\"Editor\""), "value": "" }));
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "text", "target": "#editor" })).trim(), "");

    let refused = [
        (json!({ "action": "click", "ref": named(&seen, "\"Off\"") }), "is disabled"),
        (
            json!({ "action": "select", "ref": named(&seen, "\"State\""), "value": "Utah" }),
            "has no such option",
        ),
        (json!({ "action": "select", "ref": name, "value": "x" }), "is not a list of options"),
        (json!({ "action": "fill", "ref": box_ref, "value": "x" }), "cannot be filled"),
        (
            json!({ "action": "fill", "ref": named(&seen, "\"Born\""), "value": "soon" }),
            "does not take this value",
        ),
        (
            json!({ "action": "fill", "ref": named(&seen, "\"Picture"), "value": "/etc/passwd" }),
            "files are refused",
        ),
        (json!({ "action": "check", "ref": name }), "cannot be checked"),
        (json!({ "action": "get", "kind": "text", "target": "#none" }), "is not on the page"),
        (json!({ "action": "get", "kind": "text", "target": "p[" }), "is not a CSS selector"),
    ];
    for (input, words) in refused {
        let (code, message) = driver.error(input.clone());
        assert!(code == "command_failed" && message.contains(words), "{input}: {message}");
    }

    driver.ok(json!({ "action": "fill", "ref": named(&seen, "\"Born\""), "value": "1815-12-10" }));
    driver.ok(json!({ "action": "press", "key": "Control+k" }));
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "title" })), "pressed");
    driver.ok(json!({ "action": "click", "ref": named(&seen, "button \"Send\"") }));
    driver.ok(json!({ "action": "wait", "urlPattern": "*/done?name=Ada+L&*" }));
    let sent = driver.ok(json!({ "action": "get", "kind": "url" }));
    let expected = "/done?name=Ada+L&note=two%0D%0Alines&state=CA&agree=on&born=1815-12-10&picture=";
    assert_eq!(sent, site.url(expected));
    let (_, message) = driver.error(json!({ "action": "click", "ref": name }));
    assert!(message.contains("take a new snapshot"), "{message}");
}

#[test]
fn consoles_errors_and_waits_are_told() {
    let Some(chromium) = Chromium::start(test_name!()) else { return };
    let late = r#"<button hidden id=b>Later</button><a href="/form#part">Go</a><p id=log></p><input aria-label=Box>
        <script>setTimeout(() => { document.getElementById("b").hidden = false; history.pushState({}, "", "/late/there"); }, 300);
        addEventListener("keydown", (event) => { document.getElementById("log").textContent += event.key; });</script>"#;
    let site = Site::start(&[("/form", page(FORM)), ("/late", page(late))]);
    let driver = Driver::new(chromium.lease());

    driver.ok(json!({ "action": "open", "url": site.url("/form") }));
    driver.ok(json!({ "action": "wait", "loadState": "networkidle" }));
    let console = driver.ok(json!({ "action": "console" }));
    assert!(console.contains("[log] hello 7 Object\n[warning] careful"), "{console}");
    let errors = driver.ok(json!({ "action": "errors" }));
    assert!(errors.contains("undefinedThing is not defined"), "{errors}");

    driver.ok(json!({ "action": "open", "url": site.url("/late") }));
    for state in ["domcontentloaded", "load", "networkidle"] {
        driver.ok(json!({ "action": "wait", "loadState": state }));
    }
    driver.ok(json!({ "action": "wait", "urlPattern": "*/late/there" }));
    let seen = driver.ok(json!({ "action": "snapshot" }));
    driver.ok(json!({ "action": "wait", "ref": named(&seen, "button \"Later\"") }));
    driver.ok(json!({ "action": "wait", "ms": 0 }));
    let (code, message) =
        driver.error(json!({ "action": "wait", "urlPattern": "*/never", "timeoutMs": 200 }));
    assert_eq!((code.as_str(), message.as_str()), ("command_failed", "wait did not finish within 200 ms"));

    driver.ok(json!({ "action": "type", "ref": named(&seen, "\"Box\""), "value": "aß 1" }));
    for key in ["ArrowLeft", "Tab", "Shift+A", "+"] {
        driver.ok(json!({ "action": "press", "key": key }));
    }
    let log = driver.ok(json!({ "action": "get", "kind": "text", "target": "#log" }));
    assert_eq!(log, "aß 1ArrowLeftTabA+");
    let clicked = driver.call(&json!({ "action": "click", "ref": named(&seen, "link \"Go\"") })).record;
    assert_eq!(clicked["detail"], format!("the page is now at {}", site.url("/form")), "{clicked}");
    driver.ok(json!({ "action": "wait", "loadState": "load" }));
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "url" })), site.url("/form#part"));
}

#[test]
fn a_page_cannot_get_out() {
    let Some(chromium) = Chromium::start(test_name!()) else { return };
    let endpoint = format!("http://127.0.0.1:{}/json/list", chromium.port);
    let tricks = format!(
        r#"<title>Tricks</title><button onclick="document.title = 'answered ' + confirm('Sure?')">Ask</button>
        <button onclick="window.open('/window')">Window</button><a href="/window" target=_blank>Blank</a>
        <a href="/file.bin" download>Save</a><a href="/away">Away</a><button onclick="location = 'file:///etc/passwd'">File</button>
        <button onclick="location = window.URL.createObjectURL(new Blob(['hi'], {{type: 'text/html'}}))">Blob</button>
        <a href="{endpoint}">Control</a><input type=file aria-label=Upload onclick="document.title = 'chose'">
        <iframe src="/inner"></iframe>"#
    );
    let download =
        "HTTP/1.0 200 OK\r\nContent-Disposition: attachment; filename=file.bin\r\n\r\nbytes".to_owned();
    let site = Site::start(&[
        ("/", page(&tricks)),
        ("/window", page("<title>Window</title>")),
        ("/away", redirect("file:///etc/passwd")),
        ("/inner", page("<button>Inside</button>")),
        ("/file.bin", download),
    ]);
    let driver = Driver::new(chromium.lease());
    let again = || {
        driver.ok(json!({ "action": "open", "url": site.url("/") }));
        driver.ok(json!({ "action": "snapshot", "interactive": true }))
    };
    let click = |words: &str| {
        let seen = again();
        driver.call(&json!({ "action": "click", "ref": named(&seen, words) })).record
    };
    // What happens may be told with the action itself or, where the browser takes its time, with a later one.
    let told = |mut record: Value, words: &str| {
        let mut before = String::new();
        for _ in 0..500 {
            if record["detail"].as_str().is_some_and(|detail| detail.contains(words)) {
                return;
            }
            before.push_str(&record.to_string());
            record = driver.call(&json!({ "action": "wait", "ms": 20 })).record;
        }
        panic!("not told `{words}`:\n{before}");
    };

    told(click("\"Ask\""), "a dialog was dismissed (confirm): Sure?");
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "title" })), "answered false");
    for words in ["\"Window\"", "\"Blank\""] {
        told(click(words), "a new window was closed");
    }
    while chromium.pages().len() > 2 {
        thread::sleep(Duration::from_millis(20));
    }
    told(click("\"Save\""), "a download was refused");
    told(click("\"File\""), "a way out of the web was stopped: file:");
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "url" })), site.url("/"));
    told(click("\"Blob\""), "a way out of the web was stopped: blob:");
    told(click("\"Control\""), "the browser's own control endpoint was refused");
    told(click("\"Upload"), "a choice of files was refused");

    let refused = [
        (site.url("/away"), "the page could not be opened: net::ERR_UNSAFE_REDIRECT"),
        (site.url("/file.bin"), "the address is a download, and downloads are refused"),
        (endpoint, "the page could not be opened: net::ERR_ACCESS_DENIED"),
        ("http://127.0.0.1:1/".to_owned(), "the page could not be opened: net::ERR_"),
    ];
    for (url, expected) in refused {
        let (code, message) = driver.error(json!({ "action": "open", "url": url }));
        assert_eq!(code, "command_failed", "{url}");
        assert!(message.starts_with(expected), "{url}: {message}");
    }
    let seen = again();
    assert!(!seen.contains("Inside"), "frames are not looked into: {seen}");
    let saved = std::fs::read_dir(chromium.profile.path()).unwrap();
    assert!(saved.flatten().all(|entry| entry.file_name() != "file.bin"), "a file was saved");
}

#[test]
fn elements_are_what_they_seem() {
    let Some(chromium) = Chromium::start(test_name!()) else { return };
    let traps = r#"<title>Traps</title><style>#cover { position: absolute; inset: 0; height: 40px; }</style>
        <div style="position:relative;height:40px"><button>Under</button><div id=cover onclick="document.title='caught'"></div></div>
        <button style="margin-top:3000px" onclick="document.title='far'">Far</button>
        <label><input type=checkbox style="display:none" id=c aria-label=Hidden><span>Drawn box</span></label>
        <form><input name=contains aria-label=Clobbered></form>
        <script>Element.prototype.getClientRects = () => { throw 1 }; Document.prototype.querySelector = () => null;
        Object.defineProperty(HTMLInputElement.prototype, "value", { set() { document.title = "spied"; }, get() { return ""; } });
        </script>"#;
    let site = Site::start(&[
        ("/", page(traps)),
        ("/loop", page("<script>setTimeout(() => { for (;;) {} }, 100)</script>")),
    ]);
    let driver = Driver::new(chromium.lease());
    driver.ok(json!({ "action": "open", "url": site.url("/") }));
    let seen = driver.ok(json!({ "action": "snapshot" }));
    let (_, message) = driver.error(json!({ "action": "click", "ref": named(&seen, "\"Under\"") }));
    assert!(message.ends_with("is covered by another element"), "{message}");
    driver.ok(json!({ "action": "fill", "ref": named(&seen, "\"Clobbered\""), "value": "x" }));
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "text", "target": "title" })), "Traps");
    assert!(driver.ok(json!({ "action": "snapshot" })).contains("\"Clobbered\" [value=\"x\""), "filled");
    let seen = driver.ok(json!({ "action": "snapshot", "interactive": true }));
    driver.ok(json!({ "action": "click", "ref": named(&seen, "\"Far\"") }));
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "title" })), "far");

    // A page that never comes back is given up, and the next one is new.
    driver.ok(json!({ "action": "open", "url": site.url("/loop") }));
    let mut outcome =
        driver.call(&json!({ "action": "get", "kind": "text", "target": "body", "timeoutMs": 1000 })).record;
    while outcome["status"] == "ok" {
        outcome = driver
            .call(&json!({ "action": "get", "kind": "text", "target": "body", "timeoutMs": 1000 }))
            .record;
    }
    assert_eq!(outcome["code"], "host_unavailable", "{outcome}");
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "url" })), "about:blank");
    driver.ok(json!({ "action": "open", "url": site.url("/") }));
}

#[test]
fn a_transient_page_leaves_nothing_behind() {
    let Some(chromium) = Chromium::start(test_name!()) else { return };
    let cookie = "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: user=ada; Max-Age=9999\r\n\r\nhi"
        .to_owned();
    let site = Site::start(&[("/", cookie)]);
    let lent = || chromium.lease().with_mode(ProfileMode::Persistent).with_account(AccountAccess::Available);
    let leases = [chromium.lease(), chromium.lease(), lent(), chromium.lease(), lent()];
    for lease in leases {
        let mut driver = Driver::new(lease);
        driver.ok(json!({ "action": "open", "url": site.url("/") }));
        assert_eq!(chromium.pages().len(), 2, "one of the browser, one of ours");
        driver.let_go();
        while chromium.pages().len() > 1 {
            thread::sleep(Duration::from_millis(20));
        }
    }
    let requests = site.requests.lock().unwrap();
    let visits: Vec<&str> =
        requests.iter().map(String::as_str).filter(|path| !path.contains("favicon")).collect();
    assert_eq!(visits, ["/", "/", "/", "/", "/ Cookie: user=ada"], "only what was lent is remembered");
}
