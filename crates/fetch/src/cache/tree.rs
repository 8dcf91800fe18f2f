//! Verifying a cached directory.
//!
//! The listing in the record says what to expect; anything else below the directory (an extra file, an empty
//! directory, a link, a device) is damage. The names are walked first, which bounds the work by the listing, and then
//! the files are read on several threads.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fullsend_origin::{Sha256Digest, TreeDigest, TreePath};

use super::files::{self, Kind};
use super::read::{Halt, Opened, Step, tree_path};
use super::{CacheError, Corruption, FileMode, TREE, TreeFileInfo};

/// Fewer files than this per thread are read faster than a thread starts.
const WORTH_A_THREAD: usize = 4;

/// The files that the record promises, with their digests as written there.
type Expected = BTreeMap<TreePath, String>;

/// Verifies the files of an opened entry against `digest` and gives them in order of their paths.
pub(super) fn verify(
    opened: &Opened,
    digest: &TreeDigest,
    entry: &Path,
    threads: usize,
) -> Step<Vec<TreeFileInfo>> {
    let expected = expected_files(opened)?;
    let root = open_tree(opened, entry)?;
    walk(&root, &expected, entry)?;
    let found = read_all(&root, &expected, entry, threads)?;
    compare(&found, &expected, digest)?;
    let mode = |path: &TreePath| match opened.metadata.executable().contains(path.as_str()) {
        true => FileMode::Executable,
        false => FileMode::Regular,
    };
    let info = |(path, (size, digest)): (TreePath, (u64, Sha256Digest))| TreeFileInfo {
        mode: mode(&path),
        path,
        digest,
        size,
    };
    Ok(found.into_iter().map(info).collect())
}

/// Reads the listing and refuses one that contradicts itself.
pub(super) fn expected_files(opened: &Opened) -> Step<Expected> {
    let mut expected = Expected::new();
    for record in opened.metadata.files() {
        let path = tree_path(&record.path)?;
        if expected.insert(path, record.sha256.clone()).is_some() {
            return Err(Corruption::Listing { path: record.path.clone() }.into());
        }
    }
    let known: BTreeSet<&str> = expected.keys().map(TreePath::as_str).collect();
    match opened.metadata.executable().iter().find(|path| !known.contains(path.as_str())) {
        Some(path) => Err(Corruption::Listing { path: path.clone() }.into()),
        None => Ok(expected),
    }
}

/// Opens the directory with the files.
pub(super) fn open_tree(opened: &Opened, entry: &Path) -> Step<OwnedFd> {
    match files::open_dir(&opened.dir, TREE) {
        Ok(root) => Ok(root),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Halt::Miss),
        Err(error) => Err(CacheError::io("open", &entry.join(TREE))(error).into()),
    }
}

/// Refuses every name below the directory that the listing does not account for.
fn walk(root: &OwnedFd, expected: &Expected, entry: &Path) -> Step<()> {
    let directories = parents(expected);
    let mut pending = vec![String::new()];
    while let Some(directory) = pending.pop() {
        let place = entry.join(TREE).join(&directory);
        let listed = files::open_dir_below(root, &directory).and_then(files::list);
        let listed = listed.map_err(CacheError::io("list", &place))?;
        for (name, kind) in listed {
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            match kind {
                Kind::Directory if directories.contains(path.as_str()) => pending.push(path),
                Kind::Regular if TreePath::parse(&path).is_ok_and(|path| expected.contains_key(&path)) => {}
                Kind::Regular | Kind::Directory => return Err(Corruption::Unexpected { path }.into()),
                Kind::Link | Kind::Special => return Err(Corruption::NotRegular { path }.into()),
            }
        }
    }
    Ok(())
}

/// Every directory that the listing needs.
pub(super) fn parents(expected: &Expected) -> BTreeSet<&str> {
    let above = |path: &'_ str| path.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
    expected
        .keys()
        .flat_map(|path| above(path.as_str()).into_iter().filter_map(|at| path.as_str().get(..at)))
        .collect()
}

/// Sizes and digests of all files.
type Found = BTreeMap<TreePath, (u64, Sha256Digest)>;

/// Reads all files, on several threads if there are enough of them.
fn read_all(root: &OwnedFd, expected: &Expected, entry: &Path, threads: usize) -> Step<Found> {
    let paths: Vec<&TreePath> = expected.keys().collect();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Ok(Found::new()));
    let work = || read_share(root, &paths, &next, &found, entry);
    let helpers = threads.min(paths.len() / WORTH_A_THREAD).saturating_sub(1);
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(work);
        }
        work();
    });
    found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Takes files off the list until it is empty or something is wrong.
fn read_share(
    root: &OwnedFd,
    paths: &[&TreePath],
    next: &AtomicUsize,
    found: &Mutex<Step<Found>>,
    entry: &Path,
) {
    let mut buffer = vec![0; files::CHUNK];
    while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
        let read = read_one(root, path, &mut buffer, entry);
        let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match (&mut *found, read) {
            (Ok(all), Ok(file)) => drop(all.insert((*path).clone(), file)),
            (Ok(_), Err(halt)) => *found = Err(halt),
            (Err(_), _) => return,
        }
    }
}

/// Reads one file.
fn read_one(root: &OwnedFd, path: &TreePath, buffer: &mut [u8], entry: &Path) -> Step<(u64, Sha256Digest)> {
    let opened = match files::open_below(root, path) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Corruption::Missing { path: path.to_string() }.into());
        }
        Err(error) => return Err(CacheError::io("open", &entry.join(TREE).join(path.as_str()))(error).into()),
    };
    let mut file = opened.ok_or_else(|| Corruption::NotRegular { path: path.to_string() })?;
    let read = files::digest_of(&mut file, buffer);
    Ok(read.map_err(CacheError::io("read", &entry.join(TREE).join(path.as_str())))?)
}

/// Compares what was read with what was asked for, and then with the listing.
fn compare(found: &Found, expected: &Expected, digest: &TreeDigest) -> Step<()> {
    let pairs = found.iter().map(|(path, (_, digest))| (path.clone(), *digest));
    let actual = TreeDigest::of(pairs).map_err(CacheError::from)?;
    if actual != *digest {
        return Err(Corruption::Tree { found: actual }.into());
    }
    let differs = found.iter().find(|(path, (_, digest))| expected.get(*path) != Some(&digest.to_string()));
    match differs {
        Some((path, _)) => Err(Corruption::Listing { path: path.to_string() }.into()),
        None => Ok(()),
    }
}
