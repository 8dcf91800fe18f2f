//! Where in the sandbox the next command starts, for tests of commands without a workspace of files.

use std::sync::Mutex;

use fullsend_agent::execution::{SCRATCH, SessionPlan, WORKSPACE, Whereabouts};
use fullsend_sandbox::spec::is_at_or_below;

/// A current directory within a list of roots.
#[derive(Debug)]
pub(crate) struct Directories {
    roots: Vec<String>,
    current: Mutex<String>,
}

impl Directories {
    /// Everything that is mounted, and the scratch space.
    pub(crate) fn new(plan: &SessionPlan) -> Self {
        let mounts = plan.mounts.iter().map(|mount| mount.sandbox.clone());
        let roots = mounts.chain([SCRATCH.to_owned()]).collect();
        Self { roots, current: Mutex::new(WORKSPACE.to_owned()) }
    }
}

impl Whereabouts for Directories {
    fn current(&self) -> String {
        self.current.lock().unwrap().clone()
    }

    fn home(&self) -> String {
        WORKSPACE.to_owned()
    }

    fn resolve(&self, path: &str) -> Option<String> {
        let joined =
            if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", self.current()) };
        let normal = normal(&joined);
        self.roots.iter().any(|root| is_at_or_below(&normal, root)).then_some(normal)
    }

    fn move_to(&self, path: &str) {
        if let Some(path) = self.resolve(path) {
            *self.current.lock().unwrap() = path;
        }
    }
}

fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
