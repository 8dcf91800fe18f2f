//! Text with places for what happened before.

use std::cell::OnceCell;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Enumerator, Object, ObjectRepr, Serde, Value};
use minijinja::{Environment, UndefinedBehavior};
use serde_json::Value as Json;

/// How many steps a template may take.
const FUEL: u64 = 100_000;

/// Fills templates. Only `{{ … }}` is special: commands of shells are full of `{%` and `{#`.
#[derive(Debug)]
pub(super) struct Templates {
    environment: Environment<'static>,
}

impl Templates {
    pub(super) fn new() -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        let mut syntax = SyntaxConfig::builder();
        syntax.block_delimiters("{{%", "%}}").comment_delimiters("{{#", "#}}").keep_trailing_newline(true);
        if let Ok(syntax) = syntax.build() {
            environment.set_syntax(syntax);
        }
        Self { environment }
    }

    /// What is wrong with a template.
    pub(super) fn problem(&self, text: &str) -> Option<String> {
        if !is_template(text) {
            return None;
        }
        self.environment.template_from_str(text).err().map(|error| error.to_string())
    }

    /// The text with its places filled.
    pub(super) fn fill(&self, text: &str, past: &Past<'_>) -> Result<String, String> {
        if !is_template(text) {
            return Ok(text.to_owned());
        }
        self.environment
            .render_str(text, past.scope())
            .map_err(|error| format!("cannot fill `{text}`: {error}"))
    }

    /// The same value with every text in it filled.
    pub(super) fn fill_json(&self, value: &Json, past: &Past<'_>) -> Result<Json, String> {
        Ok(match value {
            Json::String(text) => Json::String(self.fill(text, past)?),
            Json::Array(items) => {
                Json::Array(items.iter().map(|item| self.fill_json(item, past)).collect::<Result<_, _>>()?)
            }
            Json::Object(members) => {
                let mut filled = serde_json::Map::new();
                for (name, value) in members {
                    filled.insert(name.clone(), self.fill_json(value, past)?);
                }
                Json::Object(filled)
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
        })
    }
}

fn is_template(text: &str) -> bool {
    text.contains("{{")
}

/// What happened before a turn. It is copied for templates only when there is one to fill.
#[derive(Debug)]
pub(super) struct Past<'m> {
    /// The results of all calls so far.
    pub(super) results: Vec<&'m str>,
    /// The last message of the user.
    pub(super) user: &'m str,
    /// Which turn of the script this is, from one, repetitions not counted.
    pub(super) turn: usize,
    /// Which repetition of the turn this is, from one.
    pub(super) iteration: u64,
    scope: OnceCell<Arc<Scope>>,
}

impl<'m> Past<'m> {
    /// Before a turn, and a repetition of it, both from one.
    pub(super) fn new(results: Vec<&'m str>, user: &'m str, turn: usize, iteration: u64) -> Self {
        Self { results, user, turn, iteration, scope: OnceCell::new() }
    }

    fn scope(&self) -> Value {
        let scope = self.scope.get_or_init(|| {
            let results = self.results.iter().map(|text| (*text).to_owned()).collect();
            let results = Arc::new(Results(results));
            Arc::new(Scope {
                results,
                user: self.user.to_owned(),
                turn: self.turn,
                iteration: self.iteration,
            })
        });
        Value::from_dyn_object(Arc::clone(scope))
    }
}

/// The names that templates know.
#[derive(Debug)]
struct Scope {
    results: Arc<Results>,
    user: String,
    turn: usize,
    iteration: u64,
}

impl Object for Scope {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "results" => Some(Value::from_dyn_object(Arc::clone(&self.results))),
            "user" => Some(Value::from(self.user.as_str())),
            "turn" => Some(Value::from(self.turn)),
            "iteration" => Some(Value::from(self.iteration)),
            _ => None,
        }
    }
}

/// A list of results, each read only when it is asked for; those that are JSON can be looked into.
#[derive(Debug)]
struct Results(Vec<String>);

impl Object for Results {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let text = self.0.get(key.as_usize()?)?;
        Some(match serde_json::from_str::<Json>(text) {
            Ok(json @ (Json::Object(_) | Json::Array(_))) => Value::from(Serde(json)),
            Ok(_) | Err(_) => Value::from(text.as_str()),
        })
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.0.len())
    }
}
