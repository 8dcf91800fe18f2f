//! A page of our own in the leased browser.

use std::time::Duration;

use regex::Regex;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::action::{Action, LoadState, Question, Request, Scope, Target, Until};
use super::element;
use super::endpoint;
use super::failure::Failure;
use super::lease::Lease;
use super::page_state::PageState;
use super::redact::Redactor;
use super::snapshot::Tree;
use super::wire::Wire;

/// How long connecting may take.
const CONNECTING: Duration = Duration::from_secs(10);
/// How long a page may take to show that it is alive.
const ALIVE: Duration = Duration::from_secs(2);
/// After an action that may lead elsewhere: the moment in which it shows, and how long the way may take.
const SETTLING: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// Between two looks at an element.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A page of our own in the leased browser. It closes when it is dropped.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) wire: Wire,
    /// Knows the address that was connected to, too.
    pub(super) redactor: Redactor,
}

impl Page {
    /// Connects and opens an empty page, in a profile of its own if the lease says so.
    pub(super) async fn open(lease: &Lease) -> Result<Self, Failure> {
        let opening = async {
            let (socket, address) = endpoint::connect(lease.endpoint()).await?;
            let wire = Wire::start(socket, PageState::new(address));
            let page = Self { wire, redactor: Redactor::new(lease.endpoint(), Some(address)) };
            page.prepare(lease).await?;
            Ok(page)
        };
        match timeout(CONNECTING, opening).await {
            // A browser that cannot open a page is none for us.
            Ok(Err(Failure::Command(message))) => Err(Failure::Host(message)),
            Ok(opened) => opened,
            Err(_) => Err(Failure::host("the leased browser does not answer")),
        }
    }

    async fn prepare(&self, lease: &Lease) -> Result<(), Failure> {
        let wire = &self.wire;
        let mut create = json!({ "url": "about:blank" });
        let mut downloads = json!({ "behavior": "deny", "eventsEnabled": true });
        if lease.is_isolated() {
            let made =
                wire.browser("Target.createBrowserContext", json!({ "disposeOnDetach": true })).await?;
            let context = string(&made, "browserContextId")?;
            for params in [&mut create, &mut downloads] {
                if let Some(members) = params.as_object_mut() {
                    members.insert("browserContextId".to_owned(), context.clone().into());
                }
            }
            wire.state().context = Some(context);
        }
        wire.browser("Browser.setDownloadBehavior", downloads).await?;
        let target = string(&wire.browser("Target.createTarget", create).await?, "targetId")?;
        wire.state().target.clone_from(&target);
        let attach = json!({ "targetId": target, "flatten": true });
        let session = string(&wire.browser("Target.attachToTarget", attach).await?, "sessionId")?;
        wire.state().session = session;
        let discover = json!({ "discover": true, "filter": [{ "type": "page" }] });
        wire.browser("Target.setDiscoverTargets", discover).await?;
        let own_port = format!("*://*:{}/*", lease.endpoint().port());
        let patterns = json!([{ "urlPattern": "*", "resourceType": "Document" }, { "urlPattern": own_port }]);
        let on = json!({ "enabled": true });
        for (method, params) in [
            ("Page.enable", json!({})),
            ("Page.setLifecycleEventsEnabled", on.clone()),
            ("Page.setInterceptFileChooserDialog", on),
            ("Fetch.enable", json!({ "patterns": patterns })),
            ("Runtime.enable", json!({})),
            ("Log.enable", json!({})),
        ] {
            wire.page(method, params).await?;
        }
        Ok(())
    }

    /// Does what was asked, in time.
    pub(super) async fn act(&self, request: &Request) -> Result<String, Failure> {
        // A wait that just fits into its time must not lose the race against it.
        let mut limit = request.timeout;
        if let Action::Wait(Until::Elapsed(time)) = &request.action
            && *time <= limit
        {
            limit = *time + ALIVE;
        }
        match timeout(limit, self.perform(&request.action)).await {
            Ok(done) => done,
            Err(_) => Err(self.late(request).await),
        }
    }

    /// What is said of an action that took too long. A page that no longer reacts to anything is given up.
    async fn late(&self, request: &Request) -> Failure {
        let (name, limit) = (request.action.name(), request.timeout.as_millis());
        let alive = self.wire.page("Runtime.evaluate", json!({ "expression": "1" }));
        match timeout(ALIVE, alive).await {
            Ok(Ok(_)) => Failure::command(format!("{name} did not finish within {limit} ms")),
            Ok(Err(failure)) => failure,
            Err(_) => Failure::host(format!(
                "{name} did not finish within {limit} ms and the page no longer answers; the next action begins with \
                 an empty page"
            )),
        }
    }

    async fn perform(&self, action: &Action) -> Result<String, Failure> {
        let wire = &self.wire;
        match action {
            Action::Open { url } => self.navigate(url).await,
            Action::Snapshot { scope } => self.snapshot(*scope).await,
            Action::Get(question) => self.answer(question).await,
            Action::Console => Ok(or_nothing(wire.state().console.text())),
            Action::Errors => Ok(or_nothing(wire.state().errors.text())),
            Action::Wait(until) => self.wait(until).await,
            Action::Click(element) => {
                element::click(wire, element).await?;
                self.settled(format!("clicked {}", element.as_str())).await
            }
            Action::Check(element) => {
                element::check(wire, element).await?;
                self.settled(format!("{} is checked", element.as_str())).await
            }
            Action::Fill(element, value) => {
                element::fill(wire, element, value).await?;
                self.settled(format!("filled {}", element.as_str())).await
            }
            Action::Type(element, value) => {
                element::type_into(wire, element, value).await?;
                self.settled(format!("typed into {}", element.as_str())).await
            }
            Action::Select(element, value) => {
                element::select(wire, element, value).await?;
                self.settled(format!("chose an option of {}", element.as_str())).await
            }
            Action::Press(stroke) => {
                element::press(wire, stroke).await?;
                self.settled("pressed the key".to_owned()).await
            }
        }
    }

    async fn navigate(&self, url: &str) -> Result<String, Failure> {
        let before = self.wire.state().documents;
        let answer = self.wire.page("Page.navigate", json!({ "url": url })).await?;
        if answer.get("isDownload").and_then(Value::as_bool) == Some(true) {
            return Err(Failure::command("the address is a download, and downloads are refused"));
        }
        if let Some(error) = answer.get("errorText").and_then(Value::as_str).filter(|text| !text.is_empty()) {
            return Err(Failure::command(format!("the page could not be opened: {error}")));
        }
        // Within a page there is no new document to wait for.
        if answer.get("loaderId").is_some() {
            let loaded = |state: &PageState| state.documents > before && state.has_reached(LoadState::Load);
            self.wire.until(loaded).await?;
        }
        let (title, url) = self.whereabouts().await?;
        Ok(format!("{title}\n{url}"))
    }

    async fn snapshot(&self, scope: Scope) -> Result<String, Failure> {
        let answer = self.wire.page("Accessibility.getFullAXTree", json!({})).await?;
        let tree: Tree = serde_json::from_value(answer)
            .map_err(|_| Failure::command("the browser describes the page in an unknown way"))?;
        Ok(tree.describe(scope, &mut self.wire.state()))
    }

    async fn answer(&self, question: &Question) -> Result<String, Failure> {
        match question {
            Question::Title => Ok(self.whereabouts().await?.0),
            Question::Url => Ok(self.whereabouts().await?.1),
            Question::Text(Target::Ref(element)) => element::text(&self.wire, element).await,
            Question::Text(Target::Selector(selector)) => element::text_of(&self.wire, selector).await,
        }
    }

    /// Title and address, from the browser and not from scripts of the page.
    async fn whereabouts(&self) -> Result<(String, String), Failure> {
        let target = self.wire.state().target.clone();
        let answer = self.wire.browser("Target.getTargetInfo", json!({ "targetId": target })).await?;
        let info = answer.get("targetInfo").unwrap_or(&Value::Null);
        Ok((string(info, "title")?, string(info, "url")?))
    }

    async fn wait(&self, until: &Until) -> Result<String, Failure> {
        match until {
            Until::Elapsed(time) => {
                sleep(*time).await;
                Ok(format!("waited {} ms", time.as_millis()))
            }
            Until::Visible(element) => {
                while !element::is_visible(&self.wire, element).await? {
                    sleep(LOOK_AGAIN).await;
                }
                Ok(format!("{} is visible", element.as_str()))
            }
            Until::Loaded(state) => {
                self.wire.until(|page| page.has_reached(*state)).await?;
                let name = match state {
                    LoadState::DomContentLoaded => "read",
                    LoadState::Load => "loaded",
                    LoadState::NetworkIdle => "idle",
                };
                Ok(format!("the page is {name}"))
            }
            Until::Url(pattern) => {
                let pattern = wildcard(pattern)?;
                self.wire.until(|page| pattern.is_match(&page.url)).await?;
                Ok(format!("the page is at {}", self.wire.state().url))
            }
        }
    }

    /// Lets a page that an action leads to arrive, so that the next look is not at the old one.
    async fn settled(&self, done: String) -> Result<String, Failure> {
        let before = self.wire.state().url.clone();
        let (moment, longest) = SETTLING;
        sleep(moment).await;
        // One that takes longer is waited for with `wait`.
        let _ = timeout(longest, self.wire.until(|state| !state.loading)).await;
        let mut state = self.wire.state();
        if state.url != before {
            let note = format!("the page is now at {}", state.url);
            state.note(note);
        }
        Ok(done)
    }
}

/// A pattern where `*` stands for anything and everything else for itself.
fn wildcard(pattern: &str) -> Result<Regex, Failure> {
    let pieces: Vec<String> = pattern.split('*').map(regex::escape).collect();
    let whole = format!("(?s)^{}$", pieces.join(".*"));
    Regex::new(&whole).map_err(|_| Failure::command("the pattern has too many parts"))
}

fn string(value: &Value, name: &str) -> Result<String, Failure> {
    let text = value.get(name).and_then(Value::as_str);
    text.map(str::to_owned)
        .ok_or_else(|| Failure::command("the browser gave an answer without what was asked"))
}

fn or_nothing(text: String) -> String {
    if text.is_empty() { "(nothing)".to_owned() } else { text }
}
