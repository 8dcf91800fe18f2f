//! What a run works on, as the variables of workflows name it.

use std::collections::BTreeMap;

/// What stands where no variable says anything.
const UNKNOWN: &str = "unknown";

/// The issue, change or address that a run works on; `unknown` when no variable names one.
pub fn work_item(env: &BTreeMap<String, String>) -> String {
    let get = |name: &str| env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
    let alone = |name: &str| get(name).map(str::to_owned);
    let numbered = |name: &str| Some(format!("{}#{}", get("REPO_FULL_NAME")?, get(name)?));
    alone("ISSUE_KEY")
        .or_else(|| numbered("ISSUE_NUMBER"))
        .or_else(|| alone("GITHUB_ISSUE_URL"))
        .or_else(|| alone("ISSUE_NUMBER"))
        .or_else(|| numbered("PR_NUMBER"))
        .or_else(|| alone("GITHUB_PR_URL"))
        .or_else(|| alone("PR_NUMBER"))
        .or_else(|| alone("ORIGINATING_URL"))
        .or_else(|| alone("GITLAB_ISSUE_URL"))
        .unwrap_or_else(|| UNKNOWN.to_owned())
}
