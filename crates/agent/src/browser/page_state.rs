//! What is known about the page, and what is done about events nobody waits for: dialogs, downloads, new windows and
//! ways out of the web are refused while they happen, whether or not an action is under way.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};

use fullsend_fetch::get::visit::PageUrl;
use serde_json::{Value, json};

use super::action::{LoadState, Ref};
use super::wire::{Command, Incoming};

/// Lines that are kept of a console.
const MOST_LINES: usize = 200;
/// Characters of one.
const LONGEST_LINE: usize = 1_000;
/// Things to tell with the next result.
const MOST_NOTES: usize = 20;
/// Characters of an address in one of them.
const LONGEST_ADDRESS: usize = 200;
/// Windows that are remembered as closed, for what they open in turn.
const MOST_WINDOWS: usize = 1_000;
/// What a frame may show without leaving the web.
const INNER_SCHEMES: [&str; 5] = ["http", "https", "about", "blob", "data"];

/// What is known about a page.
#[derive(Debug)]
pub(super) struct PageState {
    /// The session of the page, once it is there.
    pub(super) session: String,
    /// Its target, which is also its main frame.
    pub(super) target: String,
    /// The profile that is closed with it, if it has one of its own.
    pub(super) context: Option<String>,
    /// Where the browser itself listens: no page is to look at it.
    pub(super) endpoint: SocketAddr,
    /// The address of the page.
    pub(super) url: String,
    /// Whether something is being loaded.
    pub(super) loading: bool,
    /// What scripts wrote.
    pub(super) console: Lines,
    /// What went wrong in scripts.
    pub(super) errors: Lines,
    /// How many documents the page has shown.
    pub(super) documents: u64,
    loader: String,
    reached: HashSet<LoadStep>,
    elements: HashMap<String, i64>,
    named: u64,
    notes: Vec<String>,
    windows: HashSet<String>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum LoadStep {
    Read,
    Loaded,
    Idle,
}

/// The newest lines of something endless.
#[derive(Debug, Default)]
pub(super) struct Lines(VecDeque<String>);

impl Lines {
    fn push(&mut self, line: &str) {
        if self.0.len() == MOST_LINES {
            self.0.pop_front();
        }
        self.0.push_back(line.chars().take(LONGEST_LINE).collect());
    }

    /// All of them.
    pub(super) fn text(&self) -> String {
        self.0.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

impl PageState {
    pub(super) fn new(endpoint: SocketAddr) -> Self {
        Self {
            session: String::new(),
            target: String::new(),
            context: None,
            endpoint,
            url: "about:blank".to_owned(),
            loading: false,
            console: Lines::default(),
            errors: Lines::default(),
            documents: 0,
            loader: String::new(),
            reached: HashSet::new(),
            elements: HashMap::new(),
            named: 0,
            notes: Vec::new(),
            windows: HashSet::new(),
        }
    }

    /// Forgets the elements of the last snapshot.
    pub(super) fn forget_elements(&mut self) {
        self.elements.clear();
    }

    /// Names an element. A name is never given twice, so that an old one is unknown and not another element.
    pub(super) fn name(&mut self, node: i64) -> String {
        self.named += 1;
        let name = format!("@e{}", self.named);
        self.elements.insert(name.clone(), node);
        name
    }

    /// The element of this name.
    pub(super) fn element(&self, name: &Ref) -> Option<i64> {
        self.elements.get(name.as_str()).copied()
    }

    /// Whether the page has come this far.
    pub(super) fn has_reached(&self, state: LoadState) -> bool {
        self.reached.contains(&match state {
            LoadState::DomContentLoaded => LoadStep::Read,
            LoadState::Load => LoadStep::Loaded,
            LoadState::NetworkIdle => LoadStep::Idle,
        })
    }

    /// What happened besides, since this was last asked.
    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Adds to what happened besides.
    pub(super) fn note(&mut self, note: String) {
        if self.notes.len() < MOST_NOTES && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The last command of a conversation: nothing of ours stays open in the browser.
    pub(super) fn farewell(&self) -> Option<Command> {
        if let Some(context) = &self.context {
            return Some(to_browser("Target.disposeBrowserContext", json!({ "browserContextId": context })));
        }
        (!self.target.is_empty())
            .then(|| to_browser("Target.closeTarget", json!({ "targetId": self.target })))
    }

    /// Takes an event in, and says what to send because of it, or why the conversation is over.
    pub(super) fn take_in(&mut self, event: &Incoming) -> Result<Vec<Command>, &'static str> {
        let Some(method) = event.method.as_deref() else { return Ok(Vec::new()) };
        match event.session.as_deref() {
            None => self.browser_event(method, &event.params),
            Some(session) if session == self.session => self.page_event(method, &event.params),
            Some(_) => Ok(Vec::new()),
        }
    }

    fn browser_event(&mut self, method: &str, params: &Value) -> Result<Vec<Command>, &'static str> {
        let ours = |field: &Value| !self.target.is_empty() && field.as_str() == Some(&self.target);
        match method {
            "Target.targetCreated" => Ok(self.close_window(member(params, "targetInfo"))),
            "Target.targetDestroyed" if ours(member(params, "targetId")) => Err("the page was closed"),
            "Target.targetCrashed" if ours(member(params, "targetId")) => Err("the page crashed"),
            "Browser.downloadWillBegin" if ours(member(params, "frameId")) => {
                self.note(format!("a download was refused: {}", address(params, "url")));
                Ok(Vec::new())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// What a page opens is closed: it would be out of sight.
    fn close_window(&mut self, target: &Value) -> Vec<Command> {
        let id = text(target, "targetId");
        let opener = text(target, "openerId");
        let from_ours = !opener.is_empty() && (opener == self.target || self.windows.contains(opener));
        let beside_ours = self.context.as_deref().is_some_and(|own| own == text(target, "browserContextId"));
        let strange = text(target, "type") == "page" && id != self.target && !self.target.is_empty();
        if !strange || !(from_ours || beside_ours) {
            return Vec::new();
        }
        if self.windows.len() < MOST_WINDOWS {
            self.windows.insert(id.to_owned());
        }
        self.note("a new window was closed; open its address in this page instead".to_owned());
        vec![to_browser("Target.closeTarget", json!({ "targetId": id }))]
    }

    fn page_event(&mut self, method: &str, params: &Value) -> Result<Vec<Command>, &'static str> {
        match method {
            "Inspector.targetCrashed" => return Err("the page crashed"),
            "Inspector.detached" => return Err("the page was closed"),
            "Fetch.requestPaused" => return Ok(vec![self.judge_request(params)]),
            "Page.javascriptDialogOpening" => return Ok(vec![self.dismiss(params)]),
            "Page.frameNavigated" => return Ok(self.navigated(member(params, "frame"))),
            "Page.frameScheduledNavigation" | "Page.frameRequestedNavigation" => {
                return Ok(self.heading_for(params));
            }
            "Page.navigatedWithinDocument" if self.is_main(params) => {
                self.url = text(params, "url").to_owned();
            }
            "Page.windowOpen" => self.note(format!("a new window was refused: {}", address(params, "url"))),
            "Page.fileChooserOpened" => self.note("a choice of files was refused".to_owned()),
            "Page.frameStartedLoading" if self.is_main(params) => self.loading = true,
            "Page.frameStoppedLoading" if self.is_main(params) => self.loading = false,
            "Page.lifecycleEvent" if self.is_main(params) => self.lifecycle(params),
            "Runtime.consoleAPICalled" => self.console.push(&console_line(params)),
            "Runtime.exceptionThrown" => self.errors.push(&error_line(member(params, "exceptionDetails"))),
            "Log.entryAdded" => self.console.push(&log_line(member(params, "entry"))),
            _ => {}
        }
        Ok(Vec::new())
    }

    fn is_main(&self, params: &Value) -> bool {
        text(params, "frameId") == self.target
    }

    fn judge_request(&mut self, params: &Value) -> Command {
        let request = text(params, "requestId").to_owned();
        let url = text(member(params, "request"), "url");
        let scheme = scheme(url);
        let refused = if !INNER_SCHEMES.contains(&scheme.as_str()) {
            Some(format!("an address of another kind was refused: {scheme}:"))
        } else if self.leads_to_endpoint(url) {
            Some("the browser's own control endpoint was refused".to_owned())
        } else {
            None
        };
        let Some(note) = refused else {
            return self.to_page("Fetch.continueRequest", json!({ "requestId": request }));
        };
        self.note(note);
        self.to_page("Fetch.failRequest", json!({ "requestId": request, "errorReason": "AccessDenied" }))
    }

    /// Whether an address is that of the browser's control endpoint, under any of its names: who reads it can drive
    /// the browser. What cannot be read as an address of the web is no address of ours.
    fn leads_to_endpoint(&self, url: &str) -> bool {
        if !matches!(scheme(url).as_str(), "http" | "https") {
            return false;
        }
        let Ok(url) = PageUrl::parse(url) else { return true };
        let local = match url.address() {
            Some(IpAddr::V4(v4)) => {
                v4.is_loopback() || v4.is_unspecified() || IpAddr::V4(v4) == self.endpoint.ip()
            }
            Some(IpAddr::V6(v6)) => {
                v6.is_loopback()
                    || v6.is_unspecified()
                    || v6.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback() || v4.is_unspecified())
                    || v6.to_canonical() == self.endpoint.ip()
            }
            None => url.names_this_machine(),
        };
        local && url.port() == self.endpoint.port()
    }

    fn dismiss(&mut self, params: &Value) -> Command {
        let kind = text(params, "type");
        let message: String = text(params, "message").chars().take(LONGEST_ADDRESS).collect();
        self.note(format!("a dialog was dismissed ({kind}): {message}"));
        self.to_page("Page.handleJavaScriptDialog", json!({ "accept": false }))
    }

    fn navigated(&mut self, frame: &Value) -> Vec<Command> {
        if text(frame, "id") != self.target {
            return Vec::new();
        }
        let url = text(frame, "url");
        self.forget_elements();
        self.enter(text(frame, "loaderId"));
        // The browser's own page about an address that did not load stands in for it.
        let unreachable = text(frame, "unreachableUrl");
        self.url = if unreachable.is_empty() { url } else { unreachable }.to_owned();
        if may_show(url) {
            return Vec::new();
        }
        self.note(format!("the page left the web and was closed: {}:", scheme(url)));
        vec![
            self.to_page("Page.stopLoading", json!({})),
            self.to_page("Page.navigate", json!({ "url": "about:blank" })),
        ]
    }

    fn heading_for(&mut self, params: &Value) -> Vec<Command> {
        let url = text(params, "url");
        if !self.is_main(params) || may_show(url) || scheme(url) == "javascript" {
            return Vec::new();
        }
        self.note(format!("a way out of the web was stopped: {}:", scheme(url)));
        vec![self.to_page("Page.stopLoading", json!({}))]
    }

    fn lifecycle(&mut self, params: &Value) {
        self.enter(text(params, "loaderId"));
        let step = match text(params, "name") {
            "DOMContentLoaded" => LoadStep::Read,
            "load" => LoadStep::Loaded,
            "networkIdle" => LoadStep::Idle,
            _ => return,
        };
        self.reached.insert(step);
    }

    fn enter(&mut self, loader: &str) {
        if self.loader != loader {
            self.loader = loader.to_owned();
            self.documents += 1;
            self.reached.clear();
        }
    }

    fn to_page(&self, method: &'static str, params: Value) -> Command {
        Command { session: Some(self.session.clone()), method, params }
    }
}

fn to_browser(method: &'static str, params: Value) -> Command {
    Command { session: None, method, params }
}

/// Whether the page itself may show this. A page that could not be loaded is shown by the browser.
fn may_show(url: &str) -> bool {
    matches!(scheme(url).as_str(), "http" | "https" | "chrome-error") || url == "about:blank"
}

fn scheme(url: &str) -> String {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    scheme.chars().take(LONGEST_ADDRESS).collect::<String>().to_ascii_lowercase()
}

fn member<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn address(value: &Value, name: &str) -> String {
    text(value, name).chars().take(LONGEST_ADDRESS).collect()
}

fn console_line(params: &Value) -> String {
    let arguments = member(params, "args").as_array().map(Vec::as_slice).unwrap_or_default();
    let shown: Vec<String> = arguments.iter().map(argument).collect();
    format!("[{}] {}", text(params, "type"), shown.join(" "))
}

fn argument(argument: &Value) -> String {
    match member(argument, "value") {
        Value::Null => {
            let description = text(argument, "description");
            if description.is_empty() { text(argument, "type").to_owned() } else { description.to_owned() }
        }
        Value::String(text) => text.clone(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    }
}

fn error_line(details: &Value) -> String {
    let description = text(member(details, "exception"), "description");
    let said = if description.is_empty() { text(details, "text") } else { description };
    format!("{said} ({}:{})", address(details, "url"), member(details, "lineNumber"))
}

fn log_line(entry: &Value) -> String {
    format!("[{}] {} ({})", text(entry, "level"), text(entry, "text"), address(entry, "url"))
}
