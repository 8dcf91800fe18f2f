//! What holds for every policy: the mounts grant what the entries say, to every path, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use fullsend_sandbox::spec::is_at_or_below;
use fullsend_sandbox::{FilesystemAccess, PermissionPolicy, SandboxSpec};
use proptest::prelude::*;

/// Names with common beginnings, so that a comparison of texts instead of paths would show.
const NAMES: [&str; 3] = ["a", "ab", "a-b"];

/// Every path up to three levels deep below a directory.
fn all_paths(root: &Path) -> Vec<PathBuf> {
    let mut all = vec![root.to_path_buf()];
    let mut level = all.clone();
    for _ in 0..3 {
        level = level.iter().flat_map(|path| NAMES.map(|name| path.join(name))).collect();
        all.extend(level.clone());
    }
    all
}

fn entry() -> impl Strategy<Value = String> {
    let components = prop::collection::vec(prop::sample::select(&NAMES[..]), 0..=3);
    (components, prop::sample::select(vec!["", "/", "/**"])).prop_map(|(components, end)| {
        let path = components.join("/");
        if path.is_empty() { "**".to_owned() } else { format!("{path}{end}") }
    })
}

/// What the entries say about a path: the nearest entry counts, and one that writes before one that reads.
fn by_entries(path: &str, root: &str, policy: &PermissionPolicy) -> Option<FilesystemAccess> {
    let place = |entry: &String| match entry.trim_end_matches("/**").trim_end_matches('/') {
        "**" => root.to_owned(),
        below => format!("{root}/{below}"),
    };
    let reads = policy.read.iter().map(|entry| (place(entry), FilesystemAccess::ReadOnly));
    let writes = policy.write.iter().map(|entry| (place(entry), FilesystemAccess::ReadWrite));
    nearest(path, reads.chain(writes))
}

fn nearest(path: &str, places: impl Iterator<Item = (String, FilesystemAccess)>) -> Option<FilesystemAccess> {
    places
        .filter(|(place, _)| is_at_or_below(path, place))
        // Of equals the last one counts.
        .max_by_key(|(place, _)| place.len())
        .map(|(_, access)| access)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn every_path_has_the_access_of_its_nearest_entry(
        read in prop::collection::vec(entry(), 0..5),
        write in prop::collection::vec(entry(), 0..5),
    ) {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        let paths = all_paths(&root);
        for path in &paths {
            fs::create_dir_all(path).unwrap();
        }
        let policy = PermissionPolicy { read, write, ..PermissionPolicy::default() };
        let spec = policy.lower(&root, SandboxSpec::default()).unwrap().spec;
        let outside = [root.parent().unwrap().to_path_buf(), root.with_extension("x"), PathBuf::from("/etc/shadow")];
        for path in paths.iter().chain(&outside) {
            let path = path.to_str().unwrap();
            let mounts = spec.mounts.iter().map(|mount| (mount.target.clone(), mount.access));
            prop_assert_eq!(nearest(path, mounts), by_entries(path, root.to_str().unwrap(), &policy), "{}", path);
        }
    }

    #[test]
    fn no_text_is_granted_more_than_itself(entry in "[a-c/.*?~$!{}\\[\\]]{0,8}") {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        for path in ["a", "b/c", "c"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let policy = PermissionPolicy { write: vec![entry.clone()], ..PermissionPolicy::default() };
        let Ok(lowered) = policy.lower(&root, SandboxSpec::default()) else { return Ok(()) };
        prop_assert!(policy.lint().is_empty());
        for mount in lowered.spec.mounts {
            prop_assert!(mount.source.starts_with(&root), "{:?} granted {:?}", entry, mount);
            // Only the forms for the workspace itself grant all of it.
            let means_workspace = entry.trim_end_matches("**").bytes().all(|byte| byte == b'.' || byte == b'/');
            prop_assert_eq!(mount.source == root, means_workspace, "{:?} granted {:?}", entry, mount);
        }
    }

    #[test]
    fn composing_is_a_union(
        first in prop::collection::vec(entry(), 0..4),
        second in prop::collection::vec(entry(), 0..4),
    ) {
        let policy = |read: &Vec<String>| PermissionPolicy { read: read.clone(), ..PermissionPolicy::default() };
        let (one, two) = (policy(&first), policy(&second));
        prop_assert_eq!(one.compose(&two).version(), two.compose(&one).version());
        prop_assert_eq!(one.compose(&two).compose(&two), one.compose(&two));
    }
}
