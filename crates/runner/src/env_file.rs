//! The variables of the sandbox: as the file that shells read, and as a map for commands that no shell starts.
//!
//! Both say the same. Values are quoted so that a shell takes them as they are, whatever they contain.

mod assignments;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

pub use assignments::{AssignmentError, assignments};
use fullsend_runtimes::{BIN, ENV_DIR, OUTPUT, SCHEMA, Stage};

use crate::beneath;

/// Programs of Go, which are not on the search path by themselves.
const GO: &str = "/usr/local/go/bin";

/// What a session of the backend has by itself.
#[derive(Clone, Copy, Debug)]
pub struct SessionDefaults<'a> {
    /// Its `PATH`.
    pub path: &'a str,
    /// Its `HOME`.
    pub home: &'a str,
}

/// A file of [`ENV_DIR`], read and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvDirFile {
    /// Its name in the directory.
    pub name: String,
    /// What it sets, in order.
    pub variables: Vec<(String, String)>,
}

/// What the variables of a sandbox are made from.
#[derive(Clone, Copy, Debug)]
pub struct EnvFile<'a> {
    /// Those of the runtime.
    pub runtime: &'a BTreeMap<String, String>,
    /// The repository in the sandbox.
    pub repo: &'a str,
    /// The role that the agent plays.
    pub role: Option<&'a str>,
    /// The name under which it acts.
    pub slug: Option<&'a str>,
    /// Whether the schema of the result is in the sandbox.
    pub has_schema: bool,
    /// The name of the result's file.
    pub output_file: Option<&'a str>,
    /// Lines that say where skills are fetched at run time: what they refer to is only known in the session, so they are
    /// taken as they are.
    pub fetch: Option<&'a str>,
    /// The files of [`ENV_DIR`], by name.
    pub files: &'a [EnvDirFile],
    /// `env.sandbox` of the harness.
    pub sandbox: &'a BTreeMap<String, String>,
    /// The variable with the canary token, and the token.
    pub canary: Option<(&'a str, &'a str)>,
    /// The run, in traces and findings.
    pub trace_id: &'a str,
}

impl EnvFile<'_> {
    /// The lines of the file.
    pub fn render(&self) -> String {
        let mut text = format!("export PATH={BIN}:{GO}:$HOME/go/bin:$PATH\n");
        for (name, value) in self.before() {
            export(&mut text, name, value);
        }
        text.push_str(self.fetch.unwrap_or_default());
        let _infallible = writeln!(
            text,
            "set -a; for file in {ENV_DIR}/*.env; do if [ -f \"$file\" ]; then . \"$file\"; fi; done; unset file; set +a"
        );
        for (name, value) in self.after() {
            export(&mut text, name, value);
        }
        text
    }

    /// The same as a map, for [`fullsend_sandbox::ExecRequest`].
    pub fn variables(&self, session: SessionDefaults<'_>) -> BTreeMap<String, String> {
        let SessionDefaults { path, home } = session;
        let mut variables = BTreeMap::from([("PATH".to_owned(), format!("{BIN}:{GO}:{home}/go/bin:{path}"))]);
        let files = self.files.iter().flat_map(|file| &file.variables);
        let files = files.map(|(name, value)| (name.as_str(), value.as_str()));
        let all = self.before().into_iter().chain(files).chain(self.after());
        variables.extend(all.map(|(name, value)| (name.to_owned(), value.to_owned())));
        variables
    }

    /// Writes the file into the stage.
    pub fn write(&self, stage: &Stage) -> io::Result<()> {
        beneath::Directory::open(&stage.fixed())?.write("env".as_ref(), self.render().as_bytes(), 0o644)
    }

    /// What files of the host may override.
    fn before(&self) -> Vec<(&str, &str)> {
        let mut variables: Vec<(&str, &str)> =
            self.runtime.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        variables.extend([("FULLSEND_OUTPUT_DIR", OUTPUT), ("FULLSEND_TARGET_REPO_DIR", self.repo)]);
        variables.extend(self.role.map(|role| ("FULLSEND_ROLE", role)));
        variables.extend(self.slug.map(|slug| ("FULLSEND_SLUG", slug)));
        variables.extend(self.has_schema.then_some(("FULLSEND_OUTPUT_SCHEMA", SCHEMA)));
        variables.extend(self.output_file.map(|file| ("FULLSEND_OUTPUT_FILE", file)));
        variables
    }

    /// What is said last.
    fn after(&self) -> Vec<(&str, &str)> {
        let mut variables: Vec<(&str, &str)> =
            self.sandbox.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        variables.extend(self.canary);
        variables.push(("FULLSEND_TRACE_ID", self.trace_id));
        variables
    }
}

/// One variable in single quotes, in which a shell reads nothing but the quote that ends them.
fn export(text: &mut String, name: &str, value: &str) {
    let _infallible = writeln!(text, "export {name}='{}'", value.replace('\'', r"'\''"));
}
