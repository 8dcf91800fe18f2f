//! Keeps dependencies between our crates pointing down.
//!
//! The compiler only refuses cycles. A crate that reaches sideways or up compiles today and is a knot next year,
//! so every allowed arrow stands in a table here and a new one is a decision someone reviews.

use anyhow::{Result, bail};
use serde_json::Value;

use crate::repo::Repo;

/// A crate and the crates of ours it may use. Rows only name crates from rows above them.
type Row = (&'static str, &'static [&'static str]);

/// From the bottom up; docs/architecture.md shows the same as a picture.
const ALLOWED: &[Row] = &[
    ("fullsend-origin", &[]),
    ("fullsend-yaml", &[]),
    ("fullsend-testkit", &["fullsend-origin"]),
    ("fullsend-flow", &[]),
    ("fullsend-fetch", &["fullsend-origin"]),
    ("fullsend-model", &["fullsend-fetch", "fullsend-yaml"]),
    ("fullsend-skills", &["fullsend-origin", "fullsend-yaml"]),
    ("fullsend-guard", &["fullsend-origin", "fullsend-yaml"]),
    ("fullsend-harness", &["fullsend-flow", "fullsend-origin", "fullsend-yaml"]),
    ("fullsend-sandbox-init", &[]),
    ("fullsend-sandbox", &["fullsend-origin", "fullsend-sandbox-init"]),
    (
        "fullsend-agent",
        &[
            "fullsend-fetch",
            "fullsend-flow",
            "fullsend-guard",
            "fullsend-model",
            "fullsend-origin",
            "fullsend-sandbox",
            "fullsend-skills",
        ],
    ),
    ("fullsend-chat", &["fullsend-agent", "fullsend-flow", "fullsend-guard", "fullsend-model"]),
    ("fullsend-resolve", &["fullsend-fetch", "fullsend-harness", "fullsend-origin", "fullsend-yaml"]),
    (
        "fullsend-runtimes",
        &[
            "fullsend-agent",
            "fullsend-flow",
            "fullsend-guard",
            "fullsend-model",
            "fullsend-sandbox",
            "fullsend-skills",
        ],
    ),
    (
        "fullsend-runner",
        &[
            "fullsend-agent",
            "fullsend-fetch",
            "fullsend-flow",
            "fullsend-guard",
            "fullsend-harness",
            "fullsend-origin",
            "fullsend-resolve",
            "fullsend-runtimes",
            "fullsend-sandbox",
            "fullsend-yaml",
        ],
    ),
    (
        "fullsend",
        &[
            "fullsend-runner",
            "fullsend-runtimes",
            "fullsend-agent",
            "fullsend-chat",
            "fullsend-flow",
            "fullsend-model",
            "fullsend-skills",
            "fullsend-resolve",
            "fullsend-fetch",
            "fullsend-guard",
            "fullsend-harness",
            "fullsend-origin",
            "fullsend-sandbox",
            "fullsend-yaml",
        ],
    ),
    (
        "fullsend-bench",
        &[
            "fullsend-agent",
            "fullsend-chat",
            "fullsend-model",
            "fullsend-fetch",
            "fullsend-flow",
            "fullsend-guard",
            "fullsend-harness",
            "fullsend-origin",
            "fullsend-resolve",
            "fullsend-sandbox",
            "fullsend-testkit",
            "fullsend-yaml",
        ],
    ),
    ("xtask", &[]),
];

/// Any crate's tests may use it.
const TESTKIT: &str = "fullsend-testkit";

/// The `layers` command.
pub(crate) fn check(repo: &Repo) -> Result<()> {
    let problems = problems(&repo.metadata()?, ALLOWED);
    if !problems.is_empty() {
        bail!("{}", problems.join("\n"));
    }
    Ok(())
}

fn problems(metadata: &Value, allowed: &[Row]) -> Vec<String> {
    let members: Vec<&str> = packages(metadata).filter_map(|package| package["name"].as_str()).collect();
    let mut problems = Vec::new();
    for package in packages(metadata) {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, row)) = allowed.iter().find(|(row_name, _)| *row_name == name) else {
            problems.push(format!(
                "{name}: unknown crate; add a row to ALLOWED in xtask/src/layers.rs and describe it in docs/architecture.md"
            ));
            continue;
        };
        let ours = array(package, "dependencies").filter(|dependency| is_one_of(dependency, &members));
        let forbidden = ours.filter(|dependency| !is_one_of(dependency, row) && !is_test_support(dependency));
        problems.extend(forbidden.map(|dependency| {
            let target = dependency["name"].as_str().unwrap_or_default();
            format!("{name} -> {target}: this arrow is not in ALLOWED in xtask/src/layers.rs")
        }));
    }
    problems
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    array(metadata, "packages")
}

fn array<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

fn is_one_of(dependency: &Value, names: &[&str]) -> bool {
    dependency["name"].as_str().is_some_and(|name| names.contains(&name))
}

fn is_test_support(dependency: &Value) -> bool {
    dependency["name"] == TESTKIT && dependency["kind"] == "dev"
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ALLOWED, Row, problems};

    const ROWS: &[Row] =
        &[("low", &[]), ("beside", &[]), ("high", &["low", "beside"]), ("fullsend-testkit", &["low"])];

    fn package(name: &str, dependencies: &[(&str, Value)]) -> Value {
        let dependencies: Vec<Value> =
            dependencies.iter().map(|(name, kind)| json!({"name": name, "kind": kind})).collect();
        json!({"name": name, "dependencies": dependencies})
    }

    fn check(packages: &[Value]) -> Vec<String> {
        problems(&json!({"packages": packages}), ROWS)
    }

    #[test]
    fn arrows_down_and_outside_crates_are_fine() {
        let packages = [
            package("low", &[("serde", Value::Null)]),
            package("beside", &[]),
            package("high", &[("low", Value::Null), ("beside", json!("build"))]),
        ];
        assert_eq!(check(&packages), Vec::<String>::new());
    }

    #[test]
    fn arrows_up_and_sideways_fail_even_for_tests() {
        let packages = [
            package("low", &[("high", json!("dev"))]),
            package("beside", &[("low", Value::Null)]),
            package("high", &[]),
        ];
        let expected = [
            "low -> high: this arrow is not in ALLOWED in xtask/src/layers.rs",
            "beside -> low: this arrow is not in ALLOWED in xtask/src/layers.rs",
        ];
        assert_eq!(check(&packages), expected);
    }

    #[test]
    fn an_unknown_crate_fails_and_says_what_to_do() {
        let expected = "new: unknown crate; add a row to ALLOWED in xtask/src/layers.rs and describe it in docs/architecture.md";
        assert_eq!(check(&[package("new", &[])]), [expected]);
    }

    #[test]
    fn the_testkit_is_for_tests_only() {
        let kit = package("fullsend-testkit", &[]);
        assert!(check(&[kit.clone(), package("low", &[("fullsend-testkit", json!("dev"))])]).is_empty());
        assert_eq!(check(&[kit, package("low", &[("fullsend-testkit", Value::Null)])]).len(), 1);
    }

    #[test]
    fn the_table_itself_points_down() {
        for (position, (name, row)) in ALLOWED.iter().enumerate() {
            for target in *row {
                let below = ALLOWED.iter().take(position).any(|(lower, _)| lower == target);
                assert!(below, "{name} names {target}, which is not above it in the table");
            }
        }
    }
}
