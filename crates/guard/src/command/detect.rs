//! Detectors: each looks at one command and what is around it.

mod credential;
mod destroy;
mod execute;
mod package;
mod persist;
mod privilege;
mod shell;
mod tamper;
mod upload;

use super::script::{Command, Script};
use crate::finding::Finding;
use crate::rule::Rule;
use crate::scanner::FindingList;
use crate::severity::Severity;

/// One command under consideration.
#[derive(Clone, Copy)]
struct View<'a> {
    script: &'a Script,
    command: &'a Command,
}

/// Where detectors leave what they find.
struct Found<'a> {
    list: &'a mut FindingList,
    command: &'a Command,
    seen: Vec<&'static Rule>,
}

impl Found<'_> {
    /// Reports the command under `rule`; once per command and rule.
    fn report(&mut self, rule: &'static Rule, detail: impl AsRef<str>) {
        self.report_as(rule, rule.severity, detail);
    }

    fn report_as(&mut self, rule: &'static Rule, severity: Severity, detail: impl AsRef<str>) {
        if !self.seen.contains(&rule) {
            self.seen.push(rule);
            self.list.push(Finding::new(rule, self.command.span, detail).with_severity(severity));
        }
    }
}

type Detector = fn(View<'_>, &mut Found<'_>);

static DETECTORS: &[Detector] = &[
    execute::look,
    shell::look,
    upload::look,
    credential::look,
    persist::look,
    tamper::look,
    destroy::look,
    privilege::look,
    package::look,
];

/// Runs every detector over every command.
pub(super) fn all(script: &Script, list: &mut FindingList) {
    for command in &script.commands {
        let mut found = Found { list, command, seen: Vec::new() };
        for detector in DETECTORS {
            detector(View { script, command }, &mut found);
        }
    }
    execute::downloaded_files(script, list);
}
