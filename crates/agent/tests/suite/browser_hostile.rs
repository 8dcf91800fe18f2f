//! The browser tool and what only pretends to be a browser, or is one that a page got the better of.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use fullsend_agent::browser::{AccountAccess, Lease, ProfileMode};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use crate::support::browser::Driver;

/// What a pretended browser does on a command.
enum Act {
    /// Answers as browsers do.
    Honest,
    /// Says this first, then answers as browsers do.
    First(Vec<Value>),
    /// Answers with this.
    Result(Value),
    /// Says this and nothing else.
    Raw(String),
    /// Says nothing.
    Silence,
    /// Leaves.
    Leave,
}

/// The commands that came.
type Heard = Arc<Mutex<Vec<Value>>>;
/// The paths that were asked for.
type Asked = Arc<Mutex<Vec<String>>>;
/// A way to break a conversation: its name, what is done, and what is said of it.
type Breach = (&'static str, fn(&Value) -> Act, &'static str);
type Behaviour = Arc<dyn Fn(&Value) -> Act + Send + Sync>;

/// What pretends to be a browser, and what it was told.
struct Pretender {
    address: SocketAddr,
    told: Heard,
    paths: Asked,
    _runtime: tokio::runtime::Runtime,
}

impl Pretender {
    fn start(behaviour: impl Fn(&Value) -> Act + Send + Sync + 'static) -> Self {
        Self::with_version(behaviour, |address| ok(&format!("ws://{address}/devtools/browser/one")))
    }

    fn with_version(
        behaviour: impl Fn(&Value) -> Act + Send + Sync + 'static,
        version: impl Fn(SocketAddr) -> String + Send + Sync + 'static,
    ) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (told, paths) = (Heard::default(), Asked::default());
        let (heard, asked) = (Arc::clone(&told), Arc::clone(&paths));
        let behaviour: Behaviour = Arc::new(behaviour);
        let version = Arc::new(version);
        runtime.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let version = version(address);
                tokio::spawn(serve(
                    stream,
                    version,
                    Arc::clone(&behaviour),
                    Arc::clone(&heard),
                    Arc::clone(&asked),
                ));
            }
        });
        Self { address, told, paths, _runtime: runtime }
    }

    fn lease(&self) -> Lease {
        Lease::new(&format!("http://{}", self.address)).unwrap()
    }

    /// The commands of this name that it was told.
    fn commands(&self, method: &str) -> Vec<Value> {
        let told = self.told.lock().unwrap();
        told.iter()
            .filter(|command| command["method"] == method)
            .map(|command| command["params"].clone())
            .collect()
    }
}

fn ok(socket: &str) -> String {
    let body = json!({ "webSocketDebuggerUrl": socket }).to_string();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

async fn serve(mut stream: TcpStream, version: String, behaviour: Behaviour, told: Heard, paths: Asked) {
    let mut start = [0; 17];
    while stream.peek(&mut start).await.unwrap_or_default() < start.len() {
        tokio::task::yield_now().await;
    }
    if &start == b"GET /json/version" {
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(version.as_bytes()).await;
        // Stays open: an answer without its end is waited for.
        let _ = stream.read(&mut [0; 4096]).await;
        return;
    }
    #[expect(clippy::result_large_err, reason = "the library says what a refusal is")]
    let greet = |request: &Request, response: Response| {
        paths.lock().unwrap().push(request.uri().path().to_owned());
        Ok(response)
    };
    let Ok(mut socket) = tokio_tungstenite::accept_hdr_async(stream, greet).await else { return };
    while let Some(Ok(message)) = socket.next().await {
        let Ok(command) = serde_json::from_str::<Value>(message.to_text().unwrap_or_default()) else {
            continue;
        };
        told.lock().unwrap().push(command.clone());
        let answer = |result: Value| json!({ "id": command["id"], "result": result }).to_string();
        let words = match behaviour(&command) {
            Act::Honest => vec![answer(honest(&command))],
            Act::First(first) => {
                let first = first.iter().map(Value::to_string);
                first.chain([answer(honest(&command))]).collect()
            }
            Act::Result(result) => vec![answer(result)],
            Act::Raw(words) => vec![words],
            Act::Silence => vec![],
            Act::Leave => return,
        };
        for words in words {
            if socket.send(Message::text(words)).await.is_err() {
                return;
            }
        }
    }
}

/// What browsers answer.
fn honest(command: &Value) -> Value {
    match command["method"].as_str().unwrap() {
        "Target.createBrowserContext" => json!({ "browserContextId": "own-context" }),
        "Target.createTarget" => json!({ "targetId": "page" }),
        "Target.attachToTarget" => json!({ "sessionId": "session" }),
        "Target.getTargetInfo" => json!({ "targetInfo": { "title": "Title", "url": "http://a.example/" } }),
        "Page.createIsolatedWorld" => json!({ "executionContextId": 1 }),
        _ => json!({}),
    }
}

/// Does `act` for one command and is honest otherwise.
fn on(
    method: &'static str,
    act: impl Fn(&Value) -> Act + Send + Sync + 'static,
) -> impl Fn(&Value) -> Act + Send + Sync {
    move |command| if command["method"] == method { act(command) } else { Act::Honest }
}

fn title() -> Value {
    json!({ "action": "get", "kind": "title" })
}

#[test]
fn answers_to_nothing_are_dropped() {
    let pretender = Pretender::start(on("Target.getTargetInfo", |command| {
        let id = command["id"].as_u64().unwrap();
        let lie = |id: u64| json!({ "id": id, "result": { "targetInfo": { "title": "Lie", "url": "" } } });
        let odd = [
            json!({ "id": id + 1, "error": {} }),
            json!({ "method": "No.such" }),
            json!({ "method": "Page.frameNavigated" }),
        ];
        Act::First([lie(id + 1000), lie(0), lie(u64::MAX)].into_iter().chain(odd).collect())
    }));
    let driver = Driver::new(pretender.lease());
    for _ in 0..3 {
        assert_eq!(driver.ok(title()), "Title");
    }
    assert_eq!(*pretender.paths.lock().unwrap(), ["/devtools/browser/one"], "one conversation for all");
}

#[test]
fn what_breaks_the_conversation_ends_it_and_the_next_action_begins_anew() {
    let cases: [Breach; 5] = [
        ("huge", |_| Act::Raw(" ".repeat((16 << 20) + 1)), "the browser sent more than 16 MiB at once"),
        ("no message", |_| Act::Raw("{".to_owned()), "the browser sent what is no message"),
        ("leaving", |_| Act::Leave, "the connection to the browser broke"),
        (
            "crash",
            |_| Act::Raw(json!({ "method": "Inspector.targetCrashed", "sessionId": "session" }).to_string()),
            "the page crashed",
        ),
        (
            "closed",
            |_| {
                Act::Raw(
                    json!({ "method": "Target.targetDestroyed", "params": { "targetId": "page" } })
                        .to_string(),
                )
            },
            "the page was closed",
        ),
    ];
    for (name, act, expected) in cases {
        let pretender = Pretender::start(on("Accessibility.getFullAXTree", act));
        let driver = Driver::new(pretender.lease());
        let output = driver.call(&json!({ "action": "snapshot" }));
        let message = format!("{expected}; the next action begins with an empty page");
        assert_eq!(output.record["code"], "host_unavailable", "{name}");
        assert_eq!(output.record["message"], message, "{name}");
        assert_eq!(output.failure.unwrap().kind, "harness_error", "{name}");
        assert_eq!(driver.ok(title()), "Title", "{name}");
        assert_eq!(pretender.paths.lock().unwrap().len(), 2, "{name}");
    }
}

#[test]
fn silence_ends_in_time() {
    let deaf = Pretender::start(|command| {
        let deaf =
            ["Accessibility.getFullAXTree", "Runtime.evaluate"].map(Value::from).contains(&command["method"]);
        if deaf { Act::Silence } else { Act::Honest }
    });
    let driver = Driver::new(deaf.lease());
    let (code, message) = driver.error(json!({ "action": "snapshot", "timeoutMs": 50 }));
    assert_eq!(code, "host_unavailable");
    assert!(
        message.starts_with("snapshot did not finish within 50 ms and the page no longer answers"),
        "{message}"
    );

    let slow = Pretender::start(on("Accessibility.getFullAXTree", |_| Act::Silence));
    let driver = Driver::new(slow.lease());
    let (code, message) = driver.error(json!({ "action": "snapshot", "timeoutMs": 50 }));
    assert_eq!((code.as_str(), message.as_str()), ("command_failed", "snapshot did not finish within 50 ms"));
    assert_eq!(driver.ok(title()), "Title");
    assert_eq!(slow.paths.lock().unwrap().len(), 1, "the page is still there");

    let mute = Pretender::with_version(
        |_| Act::Honest,
        |_| "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".to_owned(),
    );
    let (code, message) = Driver::new(mute.lease()).error(title());
    assert_eq!((code.as_str(), message.as_str()), ("host_unavailable", "the leased browser does not answer"));
}

#[test]
fn only_the_leased_endpoint_is_contacted() {
    let elsewhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let other = elsewhere.local_addr().unwrap();
    let pretender =
        Pretender::with_version(|_| Act::Honest, move |_| ok(&format!("ws://{other}/devtools/browser/two")));
    assert_eq!(Driver::new(pretender.lease()).ok(title()), "Title");
    assert_eq!(*pretender.paths.lock().unwrap(), ["/devtools/browser/two"]);

    let long = "x".repeat(70_000);
    let answers = [
        format!("HTTP/1.1 302 Found\r\nLocation: http://{other}/json/version\r\nContent-Length: 0\r\n\r\n"),
        "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{".to_owned(),
        "SSH-2.0-something\r\n\r\n".to_owned(),
        ok("/devtools/browser/x"),
        ok("ws://127.0.0.1:1"),
        ok("ws://127.0.0.1:1/devtools/page/x"),
        ok("ws://127.0.0.1:1/devtools/browser/"),
        ok("ws://127.0.0.1:1/devtools/browser/../../json/new"),
        ok("ws://127.0.0.1:1/devtools/browser/x?y"),
        ok("ws://127.0.0.1:1/devtools/browser/x\r\nX: y"),
        ok(&format!("ws://127.0.0.1:1/devtools/browser/{}", "x".repeat(129))),
        ok(&format!("ws://127.0.0.1:1/devtools/browser/{long}")),
    ];
    for answer in answers {
        let shown = answer.chars().take(120).collect::<String>();
        let pretender = Pretender::with_version(|_| Act::Honest, move |_| answer.clone());
        let (code, message) = Driver::new(pretender.lease()).error(title());
        let expected = "what listens where the lease says is not a browser that can be driven";
        assert_eq!((code.as_str(), message.as_str()), ("host_unavailable", expected), "{shown}");
        assert!(pretender.paths.lock().unwrap().is_empty(), "{shown}");
    }
    assert_eq!(elsewhere.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn nobody_listens() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (code, message) = Driver::new(Lease::new(&format!("http://{address}")).unwrap()).error(title());
    assert_eq!(code, "host_unavailable");
    assert_eq!(message, "no browser listens where the lease says; it may have been closed");
}

#[test]
fn no_result_names_the_endpoint() {
    let pretender = Pretender::with_version(
        |command| {
            let words = |text: &str| {
                Act::Raw(json!({ "id": command["id"], "error": { "message": text } }).to_string())
            };
            let url = command["params"]["url"].as_str().unwrap_or_default();
            match command["method"].as_str().unwrap() {
                "Page.navigate" => words(&format!("cannot open {url}")),
                "Target.getTargetInfo" => Act::First(vec![json!({
                    "method": "Page.javascriptDialogOpening", "sessionId": "session",
                    "params": { "type": "alert", "message": "see http%3A%2F%2F127.0.0.1%3APORT" },
                })]),
                _ => Act::Honest,
            }
        },
        |address| ok(&format!("ws://{address}/devtools/browser/one")),
    );
    let driver = Driver::new(pretender.lease());
    let address = pretender.address;
    let output = driver.call(&json!({ "action": "open", "url": format!("http://{address}/json/list") }));
    assert_eq!(output.record["message"], "the browser refused: cannot open <lease endpoint>/json/list");
    assert_eq!(output.failure, None, "a page that does not open is no failure of the run");
    let record = driver.call(&title()).record;
    assert_eq!(record["detail"], "a dialog was dismissed (alert): see http%3A%2F%2F127.0.0.1%3APORT");
    assert!(!record.to_string().contains(&address.port().to_string()), "{record}");
}

/// Events of a page, and the commands that follow them.
#[test]
fn what_a_page_tries_is_refused_while_it_happens() {
    let page =
        |method: &str, params: Value| json!({ "method": method, "sessionId": "session", "params": params });
    let paused =
        |url: &str| page("Fetch.requestPaused", json!({ "requestId": "r", "request": { "url": url } }));
    let shown = |url: &str| {
        page("Page.frameNavigated", json!({ "frame": { "id": "page", "loaderId": "l", "url": url } }))
    };
    let created = |info: Value| json!({ "method": "Target.targetCreated", "params": { "targetInfo": info } });
    let go_on = || ("Fetch.continueRequest", json!({ "requestId": "r" }));
    let stop = || ("Fetch.failRequest", json!({ "requestId": "r", "errorReason": "AccessDenied" }));
    let close = || ("Target.closeTarget", json!({ "targetId": "new" }));
    let blank = || ("Page.navigate", json!({ "url": "about:blank" }));
    let halt = || ("Page.stopLoading", json!({}));
    let endpoint = "the browser's own control endpoint was refused";
    let window = "a new window was closed; open its address in this page instead";
    let cases = [
        (
            page("Page.javascriptDialogOpening", json!({ "type": "confirm", "message": "Sure?" })),
            vec![("Page.handleJavaScriptDialog", json!({ "accept": false }))],
            "a dialog was dismissed (confirm): Sure?",
        ),
        (paused("http://a.example/"), vec![go_on()], ""),
        (paused("https://a.example:PORT/"), vec![go_on()], ""),
        (paused("http://127.0.0.1:3/"), vec![go_on()], ""),
        (paused("data:text/html,x"), vec![go_on()], ""),
        (paused("file:///etc/passwd"), vec![stop()], "an address of another kind was refused: file:"),
        (paused("ftp://a.example/"), vec![stop()], "an address of another kind was refused: ftp:"),
        (paused("http://127.0.0.1:PORT/json/list"), vec![stop()], endpoint),
        (paused("http://127.1:PORT/"), vec![stop()], endpoint),
        (paused("http://localhost:PORT/"), vec![stop()], endpoint),
        (paused("http://any.localhost:PORT/"), vec![stop()], endpoint),
        (paused("https://[::1]:PORT/"), vec![stop()], endpoint),
        (paused("http://[::ffff:127.0.0.1]:PORT/"), vec![stop()], endpoint),
        (paused("http://0.0.0.0:PORT/"), vec![stop()], endpoint),
        (paused("http://host.docker.internal:PORT/"), vec![stop()], endpoint),
        (shown("https://a.example/"), vec![], ""),
        (shown("chrome-error://chromewebdata/"), vec![], ""),
        (shown("file:///etc/passwd"), vec![halt(), blank()], "the page left the web and was closed: file:"),
        (shown("chrome://settings/"), vec![halt(), blank()], "the page left the web and was closed: chrome:"),
        (
            page("Page.frameScheduledNavigation", json!({ "frameId": "page", "url": "file:///etc/passwd" })),
            vec![halt()],
            "a way out of the web was stopped: file:",
        ),
        (created(json!({ "targetId": "new", "type": "page", "openerId": "page" })), vec![close()], window),
        (
            created(json!({ "targetId": "new", "type": "page", "browserContextId": "own-context" })),
            vec![close()],
            window,
        ),
        // Windows of other people, and events of other pages.
        (created(json!({ "targetId": "new", "type": "page", "browserContextId": "other" })), vec![], ""),
        (created(json!({ "targetId": "new", "type": "page", "openerId": "other" })), vec![], ""),
        (json!({ "method": "Page.javascriptDialogOpening", "sessionId": "other", "params": {} }), vec![], ""),
        (page("Page.fileChooserOpened", json!({})), vec![], "a choice of files was refused"),
        (
            json!({ "method": "Browser.downloadWillBegin", "params": { "frameId": "page", "url": "http://a.example/x" } }),
            vec![],
            "a download was refused: http://a.example/x",
        ),
    ];
    let next = Arc::new(Mutex::new(Vec::new()));
    let queued = Arc::clone(&next);
    let pretender = Pretender::start(on("Target.getTargetInfo", move |_| {
        Act::First(std::mem::take(&mut queued.lock().unwrap()))
    }));
    let driver = Driver::new(pretender.lease());
    let port = pretender.address.port().to_string();
    driver.ok(title());
    for (event, expected, note) in cases {
        pretender.told.lock().unwrap().clear();
        let event: Value = serde_json::from_str(&event.to_string().replace("PORT", &port)).unwrap();
        next.lock().unwrap().push(event.clone());
        let record = driver.call(&title()).record;
        assert_eq!(record["detail"].as_str().unwrap_or_default(), note, "{event}");
        // What was sent before this one has arrived when it is answered.
        driver.ok(title());
        let told = pretender.told.lock().unwrap();
        let sent: Vec<_> = told
            .iter()
            .filter(|command| command["method"] != "Target.getTargetInfo")
            .map(|command| (command["method"].as_str().unwrap(), command["params"].clone()))
            .collect();
        assert_eq!(sent, expected, "{event}");
    }
}

#[test]
fn a_flood_is_bounded() {
    let pretender = Pretender::start(on("Target.getTargetInfo", |_| {
        let line = "x".repeat(5_000);
        let console = json!({ "method": "Runtime.consoleAPICalled", "sessionId": "session",
            "params": { "type": "log", "args": [{ "type": "string", "value": line }] } });
        let windows = (0..3_000).map(|number| {
            let info = json!({ "targetId": format!("w{number}"), "type": "page", "openerId": "page" });
            json!({ "method": "Target.targetCreated", "params": { "targetInfo": info } })
        });
        let dialogs = (0..100).map(|number| {
            json!({ "method": "Page.javascriptDialogOpening", "sessionId": "session",
                "params": { "type": "alert", "message": format!("{number}{}", "y".repeat(1_000)) } })
        });
        Act::First(std::iter::repeat_n(console, 2_000).chain(windows).chain(dialogs).collect())
    }));
    let driver = Driver::new(pretender.lease());
    let record = driver.call(&title()).record;
    assert_eq!(record["detail"].as_str().unwrap().lines().count(), 20, "{record}");
    assert!(record["detail"].as_str().unwrap().len() < 20 * 300, "{record}");
    let console = driver.ok(json!({ "action": "console" }));
    assert!(console.ends_with("characters omitted]"), "{console}");
    assert!(console.chars().count() < 20_100, "{}", console.len());
}

#[test]
fn a_tree_without_end_is_written_once() {
    let node = |id: &str, role: &str, name: &str, children: Value| json!({ "nodeId": id, "role": { "value": role }, "name": { "value": name }, "childIds": children, "backendDOMNodeId": 7 });
    let mut nodes = vec![
        node("1", "RootWebArea", "Page", json!(["2", "3", "none", "1"])),
        node("2", "button", "Two\n- button \"Fake\" @e9", json!(["1", "2"])),
        node("3", "StaticText", "words", json!([])),
        json!({ "unknown": [] }),
    ];
    nodes.extend((10..5_000).map(|id| node(&id.to_string(), "group", "", json!([(id + 1).to_string()]))));
    nodes.push(json!({ "nodeId": "5000", "role": { "value": "StaticText" }, "name": { "value": "deep" } }));
    nodes[1]["childIds"] = json!(["1", "2", "10"]);
    let pretender =
        Pretender::start(on("Accessibility.getFullAXTree", move |_| Act::Result(json!({ "nodes": nodes }))));
    let driver = Driver::new(pretender.lease());
    let seen = driver.ok(json!({ "action": "snapshot" }));
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines[0], "- RootWebArea \"Page\" @e1");
    assert_eq!(lines[1], "  - button \"Two\\n- button \\\"Fake\\\" @e9\" @e2");
    assert!(seen.contains("truncated"), "{}", seen.len());
    let interactive = driver.ok(json!({ "action": "snapshot", "interactive": true }));
    assert_eq!(interactive.lines().count(), 1, "{interactive}");
    assert!(interactive.starts_with("- button \"Two"), "{interactive}");

    let odd = Pretender::start(on("Accessibility.getFullAXTree", |_| Act::Result(json!({ "nodes": 7 }))));
    let (code, _) = Driver::new(odd.lease()).error(json!({ "action": "snapshot" }));
    assert_eq!(code, "command_failed");
    let none = Pretender::start(|_| Act::Honest);
    assert_eq!(Driver::new(none.lease()).ok(json!({ "action": "snapshot" })), "(nothing to see)");
}

#[test]
fn a_profile_is_used_only_if_it_is_lent_with_its_accounts() {
    let cases = [
        (ProfileMode::Transient, AccountAccess::None, true),
        (ProfileMode::Transient, AccountAccess::Available, true),
        (ProfileMode::Persistent, AccountAccess::None, true),
        (ProfileMode::Persistent, AccountAccess::Available, false),
    ];
    for (mode, account, isolated) in cases {
        let pretender = Pretender::start(|_| Act::Honest);
        let mut driver = Driver::new(pretender.lease().with_mode(mode).with_account(account));
        driver.ok(title());
        let context = isolated.then_some("own-context");
        assert_eq!(
            pretender.commands("Target.createBrowserContext").len(),
            usize::from(isolated),
            "{mode:?} {account:?}"
        );
        assert_eq!(
            pretender.commands("Target.createTarget")[0]["browserContextId"].as_str(),
            context,
            "{mode:?} {account:?}"
        );
        let downloads = pretender.commands("Browser.setDownloadBehavior");
        assert_eq!(
            (&downloads[0]["behavior"], downloads[0]["browserContextId"].as_str()),
            (&json!("deny"), context)
        );
        driver.let_go();
        let farewell = if isolated { "Target.disposeBrowserContext" } else { "Target.closeTarget" };
        while pretender.commands(farewell).is_empty() {
            std::thread::yield_now();
        }
    }
}
