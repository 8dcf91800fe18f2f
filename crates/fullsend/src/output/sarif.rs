//! SARIF 2.1.0, the format that code hosts show beside the code.

pub(crate) mod problems;

use serde_json::{Value, json};

/// Something that is looked for.
#[derive(Debug)]
pub(crate) struct Rule {
    /// Its name, unique in the log.
    pub(crate) id: String,
    /// What is looked for.
    pub(crate) summary: &'static str,
    /// What to do about it.
    pub(crate) remedy: &'static str,
    /// How results are shown.
    pub(crate) level: &'static str,
    /// How bad results are, from 0 to 10, where that is about security.
    pub(crate) security_severity: Option<&'static str>,
}

/// Something that was found.
#[derive(Debug)]
pub(crate) struct Found {
    /// The name of the rule.
    pub(crate) rule: String,
    /// How it is shown.
    pub(crate) level: &'static str,
    /// What it is.
    pub(crate) message: String,
    /// Where it is.
    pub(crate) region: Option<Region>,
    /// Other places, each with what is there.
    pub(crate) related: Vec<(Region, String)>,
}

/// Lines and columns of a file; a whole file without them.
#[derive(Debug)]
pub(crate) struct Region {
    /// The file, relative to where the command ran.
    pub(crate) file: String,
    /// First and last position, each as line and column in code points.
    pub(crate) range: Option<[(usize, usize); 2]>,
}

/// A SARIF log with one run.
pub(crate) fn document(rules: &[Rule], found: &[Found]) -> Value {
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "fullsend",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": found.iter().map(|found| result(rules, found)).collect::<Vec<_>>(),
        }],
    })
}

fn rule(rule: &Rule) -> Value {
    let mut value = json!({
        "id": rule.id,
        "shortDescription": { "text": rule.summary },
        "help": { "text": rule.remedy },
        "defaultConfiguration": { "level": rule.level },
    });
    if let (Some(severity), Some(value)) = (rule.security_severity, value.as_object_mut()) {
        let properties = json!({ "security-severity": severity, "tags": ["security"] });
        value.insert("properties".to_owned(), properties);
    }
    value
}

fn result(rules: &[Rule], found: &Found) -> Value {
    let related: Vec<Value> = found
        .related
        .iter()
        .filter_map(|(region, message)| {
            let mut location = location(region);
            location.as_object_mut()?.insert("message".to_owned(), json!({ "text": message }));
            Some(location)
        })
        .collect();
    json!({
        "ruleId": found.rule,
        "ruleIndex": rules.iter().position(|rule| rule.id == found.rule),
        "level": found.level,
        "message": { "text": found.message },
        "locations": found.region.iter().map(location).collect::<Vec<_>>(),
        "relatedLocations": related,
    })
}

fn location(region: &Region) -> Value {
    let mut place = json!({ "artifactLocation": { "uri": uri(&region.file) } });
    if let (Some([start, end]), Some(place)) = (region.range, place.as_object_mut()) {
        let lines = json!({
            "startLine": start.0,
            "startColumn": start.1,
            "endLine": end.0,
            "endColumn": end.1,
        });
        place.insert("region".to_owned(), lines);
    }
    json!({ "physicalLocation": place })
}

/// A path as a relative URI reference: only what RFC 3986 allows in a path stays as it is.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&byte);
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    path.strip_prefix("./").unwrap_or(path).bytes().map(encode).collect()
}
