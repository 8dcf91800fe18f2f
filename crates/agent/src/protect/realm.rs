//! Which names in a directory may not be changed, and which directories have such names further down.

use fullsend_flow::{Policy, Trust};

/// What a directory is to whoever looks for names that may not be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Realm {
    /// Any directory, also one that is protected itself.
    Plain,
    /// What git keeps of a repository. Commits change most of it, and only its settings make anything run.
    Git,
    /// Repositories of submodules and working trees, by names with any number of slashes.
    GitMany,
    /// Where git has its attributes.
    GitInfo,
}

/// What is to be done about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// What may be trusted to change it, where that is more than a conversation has.
    pub(super) needs: Option<Trust>,
    /// How to go on below it, if it is a directory.
    pub(super) below: Option<Realm>,
}

const NOTHING: Class = Class { needs: None, below: None };

/// By which rules, for conversations of which trust.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judge<'a> {
    pub(super) policy: &'a Policy,
    pub(super) have: Trust,
}

impl Judge<'_> {
    /// What is to be done about `name` in a directory; `path` is that of the name in the workspace.
    pub(super) fn class(&self, realm: Realm, path: &str, name: &str, is_directory: bool) -> Class {
        let setting = |below: Option<Realm>| Class { needs: self.needs(path), below };
        let through = |realm: Realm| Class { needs: None, below: is_directory.then_some(realm) };
        match (realm, name) {
            (Realm::Plain, ".git") if is_directory => through(Realm::Git),
            (Realm::Plain, _) => setting(is_directory.then_some(Realm::Plain)),
            (Realm::GitInfo, "attributes") => setting(None),
            (Realm::GitInfo, _) => NOTHING,
            (Realm::Git | Realm::GitMany, "config" | "config.worktree" | "commondir") => {
                // A submodule may be called so, too.
                if is_directory { through(Realm::GitMany) } else { setting(None) }
            }
            (Realm::Git | Realm::GitMany, "hooks") => setting(is_directory.then_some(Realm::Plain)),
            (Realm::Git | Realm::GitMany, "info") => through(Realm::GitInfo),
            (Realm::Git, "modules" | "worktrees") => through(Realm::GitMany),
            (Realm::Git, _) | (Realm::GitMany, "objects" | "refs" | "logs" | "lfs" | "rr-cache") => NOTHING,
            (Realm::GitMany, _) => through(Realm::GitMany),
        }
    }

    fn needs(&self, path: &str) -> Option<Trust> {
        Some(self.policy.trust_to_change(path)).filter(|needed| *needed > self.have)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a file may not be changed by a command that was made of files of the workspace.
    fn is_bound(policy: &Policy, path: &str) -> bool {
        let judge = Judge { policy, have: Trust::Workspace };
        let mut realm = Realm::Plain;
        let ends: Vec<usize> = path.match_indices('/').map(|(end, _)| end).collect();
        for end in ends {
            let directory = &path[..end];
            let name = directory.rsplit('/').next().unwrap();
            let class = judge.class(realm, directory, name, true);
            let Some(below) = class.below else { return class.needs.is_some() };
            realm = below;
        }
        judge.class(realm, path, path.rsplit('/').next().unwrap(), false).needs.is_some()
    }

    #[test]
    fn commits_go_on_and_settings_stay() {
        let policy = Policy::default();
        for path in [
            ".git",
            "sub/.git",
            "AGENTS.md",
            "a/b/CLAUDE.md",
            ".github/workflows/ci.yml",
            ".git/config",
            ".git/config.worktree",
            ".git/commondir",
            ".git/hooks/pre-commit",
            ".git/hooks",
            ".git/info/attributes",
            "a/.git/config",
            ".git/modules/a/b/config",
            ".git/modules/config/hooks/update",
            ".git/worktrees/x/config.worktree",
            ".git/modules/a/modules/b/config",
            ".vscode/tasks.json",
        ] {
            assert!(is_bound(&policy, path), "{path}");
        }
        for path in [
            "README.md",
            "src/config",
            "hooks/x",
            ".git/HEAD",
            ".git/index",
            ".git/refs/heads/config",
            ".git/logs/hooks",
            ".git/objects/info/attributes",
            ".git/info/exclude",
            ".git/COMMIT_EDITMSG",
            ".git/packed-refs",
            ".git/modules/a/refs/heads/hooks",
            ".git/modules/a/objects/config",
            ".git/worktrees/x/index",
        ] {
            assert!(!is_bound(&policy, path), "{path}");
        }
    }

    #[test]
    fn a_rule_lifts_and_adds() {
        let rules = r#"{"sinks": [{"paths": ["**/.git", ".github/docs"], "trust": "workspace"},
            {"paths": ["deploy/**"], "trust": "commanded"}]}"#;
        let policy: Policy = serde_json::from_str(rules).unwrap();
        let bound = |path| is_bound(&policy, path);
        assert!(!bound(".git/config") && !bound(".github/docs/x") && !bound("sub/.git"));
        assert!(bound(".github/workflows/x") && bound("deploy/x") && !bound("src/x"));
    }
}
