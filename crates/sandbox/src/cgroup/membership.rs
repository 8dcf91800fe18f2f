//! Which groups this process is in, and where they are mounted.

use std::path::{Path, PathBuf};

use super::{Controller, Layout};

/// A mounted tree of groups, and our group in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// Where the tree is mounted.
    pub(super) mount: PathBuf,
    /// Our group; none if it lies outside what is mounted.
    pub(super) own: Option<PathBuf>,
}

/// The groups of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Membership {
    pub(super) unified: Option<Tree>,
    single: Vec<(String, Tree)>,
}

impl Membership {
    /// Reads `/proc/self/mountinfo` and `/proc/self/cgroup`.
    pub(super) fn parse(mount_info: &str, groups: &str) -> Self {
        let mut membership = Self::default();
        for mount in mount_info.lines().filter_map(CgroupMount::parse) {
            match mount.kind {
                "cgroup2" if membership.unified.is_none() => {
                    membership.unified = Some(mount.tree(own_group(groups, "")));
                }
                "cgroup" => {
                    for controller in mount.options.split(',') {
                        if Controller::from_name(controller).is_some()
                            && !membership.single.iter().any(|(known, _)| known == controller)
                        {
                            let tree = mount.tree(own_group(groups, controller));
                            membership.single.push((controller.to_owned(), tree));
                        }
                    }
                }
                _ => {}
            }
        }
        membership
    }

    /// The version 1 tree of a controller.
    pub(super) fn controller(&self, controller: Controller) -> Option<&Tree> {
        self.single.iter().find_map(|(name, tree)| (name == controller.name()).then_some(tree))
    }

    pub(super) fn layout(&self) -> Layout {
        match (&self.unified, self.single.is_empty()) {
            (Some(_), true) => Layout::V2,
            (Some(_), false) => Layout::Hybrid,
            (None, false) => Layout::V1,
            (None, true) => Layout::None,
        }
    }
}

/// A line of `/proc/self/mountinfo` about control groups.
struct CgroupMount<'a> {
    kind: &'a str,
    root: &'a str,
    point: String,
    options: &'a str,
}

impl<'a> CgroupMount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (mount.next()?, mount.next()?);
        let mut filesystem = filesystem.split(' ');
        let kind = filesystem.next()?;
        let options = filesystem.nth(1)?;
        kind.starts_with("cgroup").then(|| Self { kind, root, point: unescape(point), options })
    }

    fn tree(&self, group: Option<&str>) -> Tree {
        let mount = PathBuf::from(&self.point);
        let own = group.and_then(|group| Path::new(group).strip_prefix(self.root).ok()).map(|below| {
            // Joining an empty path would add a slash.
            if below.as_os_str().is_empty() { mount.clone() } else { mount.join(below) }
        });
        Tree { mount, own }
    }
}

/// The group named in `/proc/self/cgroup` for a controller; the empty name is the version 2 tree.
fn own_group<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

/// Undoes the escapes for blanks in mount points.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Membership, Tree};
    use crate::cgroup::{Controller, Layout};

    fn tree(mount: &str, own: Option<&str>) -> Tree {
        Tree { mount: mount.into(), own: own.map(PathBuf::from) }
    }

    #[test]
    fn a_user_session_of_systemd_is_in_one_tree() {
        let membership = Membership::parse(
            "25 22 0:22 / /proc rw shared:5 - proc proc rw\n\
             30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope\n",
        );
        assert_eq!(membership.layout(), Layout::V2);
        let own = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope";
        assert_eq!(membership.unified, Some(tree("/sys/fs/cgroup", Some(own))));
        assert_eq!(membership.controller(Controller::Memory), None);
    }

    #[test]
    fn a_hybrid_machine_has_both() {
        let membership = Membership::parse(
            "31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
             32 30 0:28 / /sys/fs/cgroup/my\\040memory rw - cgroup cgroup rw,memory\n\
             33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
            "5:cpu,cpuacct:/a\n4:memory:/b/c\n1:name=systemd:/x\n0::/\n",
        );
        assert_eq!(membership.layout(), Layout::Hybrid);
        assert_eq!(
            membership.controller(Controller::Cpu),
            Some(&tree("/sys/fs/cgroup/cpu,cpuacct", Some("/sys/fs/cgroup/cpu,cpuacct/a")))
        );
        assert_eq!(
            membership.controller(Controller::Memory),
            Some(&tree("/sys/fs/cgroup/my memory", Some("/sys/fs/cgroup/my memory/b/c")))
        );
        assert_eq!(membership.controller(Controller::Pids), None);
        assert_eq!(membership.unified, Some(tree("/sys/fs/cgroup/unified", Some("/sys/fs/cgroup/unified"))));
    }

    #[test]
    fn a_container_sees_only_its_part_of_the_tree() {
        let mounts = "31 30 0:27 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        let inside = Membership::parse(mounts, "4:memory:/docker/abc/d\n");
        assert_eq!(
            inside.controller(Controller::Memory),
            Some(&tree("/sys/fs/cgroup/memory", Some("/sys/fs/cgroup/memory/d")))
        );
        let outside = Membership::parse(mounts, "4:memory:/docker/abcd\n");
        assert_eq!(outside.controller(Controller::Memory), Some(&tree("/sys/fs/cgroup/memory", None)));
        assert_eq!(outside.layout(), Layout::V1);
    }

    #[test]
    fn nothing_mounted_is_nothing() {
        let membership = Membership::parse("25 22 0:22 / /proc rw - proc proc rw\nnonsense\n", "0::/\n");
        assert_eq!((membership.layout(), membership.unified), (Layout::None, None));
    }
}
