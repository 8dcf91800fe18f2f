//! Where the arguments of a call go.

use std::sync::Arc;

use fullsend_fetch::get::visit::PageUrl;
use fullsend_flow::{Argument, Destination, Label};
use serde_json::{Map, Value};

use super::handles::Named;
use crate::tool::{Sink, ToolSpec};
use crate::workspace::{CurrentDir, Workspace};

/// Which paths of a model mean what.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) current_dir: CurrentDir,
}

/// Arguments that go somewhere, before they have a label.
#[derive(Debug, Default)]
pub(super) struct Gathered<'a>(Vec<One<'a>>);

#[derive(Debug)]
struct One<'a> {
    name: &'static str,
    value: Option<&'a str>,
    label: Option<Label>,
    goes: Goes,
}

/// A destination that holds its own text.
#[derive(Debug)]
enum Goes {
    Selector,
    Program,
    Target(Option<String>),
    Content(Option<String>),
    Host(String),
    Child,
}

impl Place {
    /// Gathers the arguments of a call, as the model wrote them: a handle is not looked into, so that a decision tells
    /// nothing of what it stands for. What it names counts as the strictest of its kind.
    pub(super) fn arguments<'a>(
        &self,
        spec: &ToolSpec,
        input: &'a Map<String, Value>,
        named: &Named,
    ) -> Gathered<'a> {
        let mut gathered = Gathered::default();
        for sink in spec.sinks {
            let (Sink::Selector(name)
            | Sink::Program(name)
            | Sink::Target(name)
            | Sink::Content(name)
            | Sink::Url(name)
            | Sink::Page(name)
            | Sink::Child(name)) = *sink;
            let Some(value) = input.get(name) else { continue };
            let text = value.as_str();
            match sink {
                Sink::Selector(_) => gathered.push(name, text, Goes::Selector),
                Sink::Program(_) => gathered.push(name, text, Goes::Program),
                Sink::Child(_) => gathered.push(name, text, Goes::Child),
                Sink::Url(_) => gathered.push(name, text, Goes::Host(host_of(text))),
                // Whoever is behind the page is not known from the call.
                Sink::Page(_) => gathered.push(name, text, Goes::Host(String::new())),
                Sink::Target(_) => {
                    for path in self.paths(name, input, named) {
                        gathered.push(name, text, Goes::Target(path));
                    }
                }
                Sink::Content(_) => {
                    for path in self.paths("path", input, named) {
                        gathered.push(name, text, Goes::Content(path));
                    }
                }
            }
        }
        gathered
    }

    /// The paths in the workspace that an argument means: as it is spelled, and where links lead if that is elsewhere. A
    /// repository could have a link with a harmless name that leads to what is run automatically.
    fn paths(&self, argument: &str, input: &Map<String, Value>, named: &Named) -> Vec<Option<String>> {
        let given =
            input.get(argument).and_then(Value::as_str).filter(|_| named.label_in(argument).is_none());
        let Some(given) = given else { return vec![None] };
        let Ok(path) = self.workspace.resolve(given, &self.current_dir.get()) else { return vec![None] };
        let spelled = self.workspace.in_workspace(&path).map(str::to_owned);
        let real = self.workspace.real_in_workspace(&path);
        if spelled == real { vec![spelled] } else { vec![spelled, real] }
    }
}

impl<'a> Gathered<'a> {
    fn push(&mut self, name: &'static str, value: Option<&'a str>, goes: Goes) {
        self.0.push(One { name, value, label: None, goes });
    }

    /// The arguments with their labels: what the model had seen, and what the handles stand for that they name.
    pub(super) fn arguments<'g>(&'g mut self, context: &'g Label, named: &Named) -> Vec<Argument<'g>> {
        if !named.is_empty() {
            for one in &mut self.0 {
                one.label = named.label_in(one.name).map(|label| context.join(label));
            }
        }
        let argument = |one: &'g One<'a>| Argument {
            name: one.name,
            value: one.value,
            label: one.label.as_ref().unwrap_or(context),
            destination: match &one.goes {
                Goes::Selector => Destination::Selector,
                Goes::Program => Destination::Program,
                Goes::Target(path) => Destination::Target { path: path.as_deref() },
                Goes::Content(path) => Destination::Content { path: path.as_deref() },
                Goes::Host(host) => Destination::Host(host),
                Goes::Child => Destination::Child,
            },
        };
        self.0.iter().map(argument).collect()
    }
}

/// The host of an address; empty where there is none, which is no host that a rule names but those for all.
fn host_of(url: Option<&str>) -> String {
    url.and_then(|url| PageUrl::parse(url).ok()).map(|url| url.host()).unwrap_or_default()
}
