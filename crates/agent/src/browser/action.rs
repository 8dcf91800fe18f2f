//! What a model may ask of a browser. What is not here cannot be asked: there is no script, no file, no other browser.

use std::time::Duration;

use fullsend_fetch::get::visit::PageUrl;
use serde_json::{Map, Value};

use super::keys::Stroke;

/// The actions and the arguments of each.
const FIELDS: &[(&str, &[&str])] = &[
    ("open", &["url"]),
    ("snapshot", &["interactive"]),
    ("get", &["kind", "target"]),
    ("console", &[]),
    ("errors", &[]),
    ("wait", &["ms", "ref", "loadState", "urlPattern"]),
    ("click", &["ref"]),
    ("check", &["ref"]),
    ("fill", &["ref", "value"]),
    ("type", &["ref", "value"]),
    ("select", &["ref", "value"]),
    ("press", &["key"]),
];

/// The longest wait for nothing in particular, in milliseconds.
pub(super) const LONGEST_WAIT: u64 = 30_000;
/// Milliseconds for one action: usually, and at most.
const TIMEOUT: (u64, u64) = (30_000, 120_000);
/// The longest value to fill in, in bytes.
const LONGEST_VALUE: usize = 64 * 1024;
/// The longest selector or pattern, in bytes.
const LONGEST_SELECTOR: usize = 2048;
/// The longest name of an element, in bytes.
const LONGEST_REF: usize = 32;

/// One action, and how long it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What to do.
    pub action: Action,
    /// How long it may take.
    pub timeout: Duration,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Go to a page.
    Open {
        /// An `http` or `https` URL.
        url: String,
    },
    /// Describe the page, and name its elements.
    Snapshot {
        /// Which elements.
        scope: Scope,
    },
    /// Say one thing about the page.
    Get(Question),
    /// What scripts of the page wrote.
    Console,
    /// What went wrong in scripts of the page.
    Errors,
    /// Wait.
    Wait(Until),
    /// Click an element.
    Click(Ref),
    /// Tick a box or choose a radio button, if it is not.
    Check(Ref),
    /// Replace the content of a field. An empty value clears it.
    Fill(Ref, String),
    /// Type into an element, key by key.
    Type(Ref, String),
    /// Choose an option, by its value or its label.
    Select(Ref, String),
    /// Press a key.
    Press(Stroke),
}

/// What a snapshot shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    Page,
    /// What can be clicked, filled or chosen.
    Interactive,
}

/// What can be said about a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Its title.
    Title,
    /// Its address.
    Url,
    /// The text of an element.
    Text(Target),
}

/// Which element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One of the last snapshot.
    Ref(Ref),
    /// The first one that a CSS selector finds.
    Selector(String),
}

/// How long to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// So long.
    Elapsed(Duration),
    /// Until this element can be seen.
    Visible(Ref),
    /// Until the page has come this far.
    Loaded(LoadState),
    /// Until the address is like this; `*` stands for anything.
    Url(String),
}

/// How far a page has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadState {
    /// Its document is read.
    DomContentLoaded,
    /// Its pictures and styles are there, too.
    Load,
    /// And it asks for nothing more.
    NetworkIdle,
}

/// The name of an element in the last snapshot: `@e1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ref(String);

impl Ref {
    /// The name, with its `@`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a request is none. Says nothing that the model wrote but names of arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// No action, or another one.
    #[error("action must be one of {}", list(&FIELDS.iter().map(|(name, _)| *name).collect::<Vec<_>>()))]
    Action,
    /// An argument of another action.
    #[error("{field} does not apply to the {action} action")]
    Foreign {
        /// The argument.
        field: &'static str,
        /// What was asked for.
        action: &'static str,
    },
    /// An argument of nothing.
    #[error("there are arguments that no browser action has")]
    Unknown,
    /// An argument of the same action asked in another way.
    #[error("target does not apply to get {kind}")]
    NoTarget {
        /// What was asked for.
        kind: &'static str,
    },
    /// An argument that is missing or is not what it has to be.
    #[error("{field} must be {expected}")]
    Field {
        /// The argument.
        field: &'static str,
        /// What it has to be.
        expected: &'static str,
    },
    /// None or several ways to wait.
    #[error("wait needs exactly one of ms, ref, loadState, urlPattern")]
    Wait,
}

impl Request {
    /// Reads a request. An argument that the action does not have is refused, so that nobody believes it was heeded.
    pub fn parse(input: &Map<String, Value>) -> Result<Self, InputError> {
        let asked = input.get("action").and_then(Value::as_str).ok_or(InputError::Action)?;
        let known = FIELDS.iter().find(|(name, _)| *name == asked);
        let (action, fields) = known.ok_or(InputError::Action)?;
        for name in input.keys() {
            if !["action", "timeoutMs"].contains(&name.as_str()) && !fields.contains(&name.as_str()) {
                let field = FIELDS.iter().flat_map(|(_, fields)| *fields).find(|field| *field == name);
                return Err(field.map_or(InputError::Unknown, |field| InputError::Foreign { field, action }));
            }
        }
        Ok(Self { action: Action::parse(action, &Arguments(input))?, timeout: timeout(input)? })
    }
}

impl Action {
    fn parse(action: &str, given: &Arguments<'_>) -> Result<Self, InputError> {
        Ok(match action {
            "open" => Self::Open { url: given.url()? },
            "snapshot" => Self::Snapshot { scope: given.scope()? },
            "get" => Self::Get(given.question()?),
            "console" => Self::Console,
            "errors" => Self::Errors,
            "wait" => Self::Wait(given.until()?),
            "click" => Self::Click(given.element()?),
            "check" => Self::Check(given.element()?),
            "fill" => Self::Fill(given.element()?, given.value()?),
            "type" => Self::Type(given.element()?, given.value()?),
            "select" => Self::Select(given.element()?, given.value()?),
            "press" => Self::Press(given.key()?),
            _ => return Err(InputError::Action),
        })
    }

    /// Its name, as models write it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::Snapshot { .. } => "snapshot",
            Self::Get(_) => "get",
            Self::Console => "console",
            Self::Errors => "errors",
            Self::Wait(_) => "wait",
            Self::Click(_) => "click",
            Self::Check(_) => "check",
            Self::Fill(..) => "fill",
            Self::Type(..) => "type",
            Self::Select(..) => "select",
            Self::Press(_) => "press",
        }
    }
}

struct Arguments<'a>(&'a Map<String, Value>);

impl Arguments<'_> {
    fn text(&self, field: &'static str, expected: &'static str) -> Result<&str, InputError> {
        self.0.get(field).and_then(Value::as_str).ok_or(InputError::Field { field, expected })
    }

    /// The address as it was written: what a browser makes of it is judged again when it is asked for.
    fn url(&self) -> Result<String, InputError> {
        let expected = "an http or https URL without a user name or password";
        let url = self.text("url", expected)?;
        PageUrl::parse(url).map_err(|_| InputError::Field { field: "url", expected })?;
        Ok(url.trim().to_owned())
    }

    fn scope(&self) -> Result<Scope, InputError> {
        match self.0.get("interactive") {
            None | Some(Value::Bool(false)) => Ok(Scope::Page),
            Some(Value::Bool(true)) => Ok(Scope::Interactive),
            Some(_) => Err(InputError::Field { field: "interactive", expected: "true or false" }),
        }
    }

    fn question(&self) -> Result<Question, InputError> {
        let expected = "one of title, url, text";
        let target = self.0.contains_key("target");
        match self.text("kind", expected)? {
            "title" if target => Err(InputError::NoTarget { kind: "title" }),
            "url" if target => Err(InputError::NoTarget { kind: "url" }),
            "title" => Ok(Question::Title),
            "url" => Ok(Question::Url),
            "text" => self.target().map(Question::Text),
            _ => Err(InputError::Field { field: "kind", expected }),
        }
    }

    fn target(&self) -> Result<Target, InputError> {
        let expected = "an element of the last snapshot such as @e1, or a CSS selector";
        let target = self.text("target", expected)?;
        if target.starts_with('@') {
            return element("target", target).map(Target::Ref);
        }
        let usable = !target.trim().is_empty() && target.len() <= LONGEST_SELECTOR;
        let error = InputError::Field { field: "target", expected };
        usable.then(|| Target::Selector(target.to_owned())).ok_or(error)
    }

    fn until(&self) -> Result<Until, InputError> {
        let ways = ["ms", "ref", "loadState", "urlPattern"].into_iter();
        let given: Vec<&str> = ways.filter(|way| self.0.contains_key(*way)).collect();
        let [way] = given.as_slice() else { return Err(InputError::Wait) };
        match *way {
            "ms" => {
                let ms = self.0.get("ms").and_then(Value::as_u64).filter(|ms| *ms <= LONGEST_WAIT);
                let expected = "a whole number from 0 to 30000";
                let ms = ms.ok_or(InputError::Field { field: "ms", expected })?;
                Ok(Until::Elapsed(Duration::from_millis(ms)))
            }
            "ref" => self.element().map(Until::Visible),
            "loadState" => self.load_state().map(Until::Loaded),
            _ => self.url_pattern().map(Until::Url),
        }
    }

    fn load_state(&self) -> Result<LoadState, InputError> {
        let expected = "one of domcontentloaded, load, networkidle";
        match self.text("loadState", expected)? {
            "domcontentloaded" => Ok(LoadState::DomContentLoaded),
            "load" => Ok(LoadState::Load),
            "networkidle" => Ok(LoadState::NetworkIdle),
            _ => Err(InputError::Field { field: "loadState", expected }),
        }
    }

    fn url_pattern(&self) -> Result<String, InputError> {
        let expected = "a pattern of http or https addresses, where * stands for anything";
        let pattern = self.text("urlPattern", expected)?.trim();
        let file = pattern.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:"));
        let usable = !pattern.is_empty() && !file && pattern.len() <= LONGEST_SELECTOR;
        let error = InputError::Field { field: "urlPattern", expected };
        usable.then(|| pattern.to_owned()).ok_or(error)
    }

    fn element(&self) -> Result<Ref, InputError> {
        element("ref", self.text("ref", ELEMENT)?)
    }

    fn value(&self) -> Result<String, InputError> {
        let expected = "a string of at most 65536 bytes; it may be empty";
        let value = self.text("value", expected)?;
        let error = InputError::Field { field: "value", expected };
        (value.len() <= LONGEST_VALUE).then(|| value.to_owned()).ok_or(error)
    }

    fn key(&self) -> Result<Stroke, InputError> {
        let expected = "the name of one key, such as Enter, a or Control+A";
        let name = self.text("key", expected)?;
        Stroke::parse(name).ok_or(InputError::Field { field: "key", expected })
    }
}

const ELEMENT: &str = "an element of the last snapshot, such as @e1";

fn element(field: &'static str, text: &str) -> Result<Ref, InputError> {
    let name = text.strip_prefix('@').unwrap_or_default();
    let usable =
        (1..=LONGEST_REF).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    usable.then(|| Ref(text.to_owned())).ok_or(InputError::Field { field, expected: ELEMENT })
}

fn timeout(input: &Map<String, Value>) -> Result<Duration, InputError> {
    let (usual, most) = TIMEOUT;
    let given = match input.get("timeoutMs") {
        None => usual,
        Some(value) => value
            .as_u64()
            .filter(|ms| *ms > 0)
            .ok_or(InputError::Field { field: "timeoutMs", expected: "a positive whole number" })?,
    };
    Ok(Duration::from_millis(given.min(most)))
}

fn list(names: &[&str]) -> String {
    names.join(", ")
}
