//! The skills that skills depend on: fetched level by level, then put in order.
//!
//! Levels are fetched concurrently; order, circles and depth are decided afterwards on the finished graph, so that they
//! do not depend on which answer came first.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use fullsend_fetch::audit::FetchType;
use fullsend_origin::{PinnedUrl, Sha256Digest};

use crate::error::{DependencyError, ResolveError};
use crate::permission::Permissions;
use crate::relative::resolve_reference;
use crate::resolver::Limits;
use crate::skill_file::SkillManifest;
use crate::store::{Got, Shape, Store, Want};

/// One skill of the graph.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) want: Want,
    pub(crate) got: Got,
    dependencies: Vec<String>,
}

/// Everything that was fetched, by clean URL.
#[derive(Debug, Default)]
pub(crate) struct Closure {
    nodes: HashMap<String, Node>,
    /// Remote resources of the harness that are no skills, which count too.
    others: usize,
    pub(crate) warnings: Vec<String>,
}

/// A reference from a skill, before it is fetched.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    pub(crate) field: String,
    pub(crate) url: PinnedUrl,
    /// How deep what it leads to lies; what the harness names lies at 0.
    pub(crate) level: usize,
    /// The clean URL of the skill that makes it.
    pub(crate) parent: Option<String>,
}

impl Closure {
    /// An empty closure of a harness that has this many other remote resources.
    pub(crate) fn beside(others: usize) -> Self {
        Self { others, ..Self::default() }
    }

    pub(crate) fn node(&self, url: &str) -> Option<&Node> {
        self.nodes.get(url)
    }

    /// Fetches the skills behind these references and all that they depend on.
    pub(crate) async fn fetch(
        &mut self,
        store: &Arc<Store>,
        roots: &[Edge],
        permissions: &Permissions,
        limits: &Limits,
    ) -> Result<(), ResolveError> {
        let mut frontier = roots.to_vec();
        while !frontier.is_empty() {
            let wants = self.new_wants(store, &frontier, permissions, limits)?;
            let (wants, levels): (Vec<Want>, Vec<usize>) = wants.into_iter().unzip();
            let answers = store.get_all(wants.clone(), limits.concurrency).await?;
            frontier.clear();
            for ((want, level), got) in wants.into_iter().zip(levels).zip(answers) {
                let edges = self.edges(store, &want, &got, level, limits)?;
                let dependencies = edges.iter().map(|edge| edge.url.url().as_str().to_owned()).collect();
                frontier.extend(edges);
                self.nodes.insert(want.url.url().as_str().to_owned(), Node { want, got, dependencies });
            }
        }
        Ok(())
    }

    /// The references that lead to something new; one URL has one digest.
    fn new_wants(
        &self,
        store: &Arc<Store>,
        frontier: &[Edge],
        permissions: &Permissions,
        limits: &Limits,
    ) -> Result<Vec<(Want, usize)>, ResolveError> {
        let mut wants: Vec<(Want, usize)> = Vec::new();
        for edge in frontier {
            let clean = edge.url.url().as_str();
            let known = self.nodes.get(clean).map(|node| node.want.url.digest());
            let queued = wants.iter_mut().find(|(want, _)| want.url.url().as_str() == clean);
            let queued = queued.map(|(want, level)| {
                *level = edge.level.min(*level);
                want.url.digest()
            });
            if let Some(first) = known.or(queued) {
                // Content cannot hold its own digest, so skills that lead back to themselves pin different ones.
                self.circle(edge).map_or(Ok(()), |circle| Err(ResolveError::Circle { circle }))?;
                same_digest(clean, first, edge.url.digest())?;
                continue;
            }
            let mut want = Want {
                field: edge.field.clone(),
                url: edge.url.clone(),
                shape: Shape::Directory,
                allowed_by: String::new(),
                fetch_type: FetchType::Static,
            };
            want.allowed_by = permissions
                .harness(edge.url.url().as_https())
                .map_err(|error| store.refuse(&want, None, error))?;
            wants.push((want, edge.level));
        }
        if self.nodes.len() + wants.len() + self.others > limits.max_resources {
            return Err(ResolveError::TooMany { limit: limits.max_resources });
        }
        Ok(wants)
    }

    /// What a fetched skill depends on.
    fn edges(
        &mut self,
        store: &Arc<Store>,
        want: &Want,
        got: &Got,
        level: usize,
        limits: &Limits,
    ) -> Result<Vec<Edge>, ResolveError> {
        if limits.max_depth == 0 {
            return Ok(Vec::new());
        }
        let clean = want.url.url().as_str();
        let refused = |error| store.refuse(want, Some(&want.allowed_by), error);
        let manifest = read_manifest(&got.path).map_err(refused)?;
        if manifest.names_policy {
            self.warnings.push(format!("the skill `{clean}` names a policy, which is not applied"));
        }
        if !manifest.dependencies.is_empty() && level + 1 > limits.max_depth {
            return Err(ResolveError::TooDeep {
                url: clean.to_owned(),
                depth: level,
                limit: limits.max_depth,
            });
        }
        let parent = want.url.url().as_https();
        let edge = |(index, reference): (usize, &String)| {
            let url = resolve_reference(parent, reference).map_err(refused)?;
            let field = format!("skills[{clean}:dep{index}]");
            Ok(Edge { field, url, level: level + 1, parent: Some(clean.to_owned()) })
        };
        manifest.dependencies.iter().enumerate().map(edge).collect()
    }

    /// The way from where an edge leads back to where it starts, if there is one.
    fn circle(&self, edge: &Edge) -> Option<Vec<String>> {
        let (start, end) = (edge.url.url().as_str(), edge.parent.as_deref()?);
        let mut seen = HashSet::from([start]);
        let mut ways = vec![vec![start]];
        while let Some(way) = ways.pop() {
            let last = way.last().copied()?;
            if last == end {
                return Some(way.into_iter().chain([start]).map(str::to_owned).collect());
            }
            let next = self.nodes.get(last).map(|node| node.dependencies.as_slice()).unwrap_or_default();
            for url in next.iter().filter(|url| seen.insert(url.as_str())) {
                ways.push(way.iter().copied().chain([url.as_str()]).collect());
            }
        }
        None
    }

    /// The clean URLs reachable from `roots`, dependencies before what depends on them, each once.
    pub(crate) fn in_order(&self, roots: &[Edge]) -> Result<Vec<String>, ResolveError> {
        let mut order = Order { closure: self, done: Vec::new(), path: Vec::new() };
        for root in roots {
            order.visit(root.url.url().as_str())?;
        }
        Ok(order.done)
    }
}

pub(crate) fn same_digest(url: &str, first: Sha256Digest, second: Sha256Digest) -> Result<(), ResolveError> {
    if first == second {
        return Ok(());
    }
    Err(ResolveError::Conflict { url: url.to_owned(), first, second })
}

/// Reads at most as much as a manifest may have; what is longer does not end where a reader expects it to.
fn read_bounded(path: &Path) -> std::io::Result<String> {
    const LONGEST: u64 = 1 << 20;
    let mut text = String::new();
    let file = std::fs::File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    match file.take(LONGEST + 1).read_to_string(&mut text)? as u64 {
        length if length > LONGEST => Err(std::io::Error::other(format!("it has more than {LONGEST} bytes"))),
        _ => Ok(text),
    }
}

/// Reads the manifest of a skill directory; one without `SKILL.md` depends on nothing.
pub(crate) fn read_manifest(directory: &Path) -> Result<SkillManifest, DependencyError> {
    let invalid = |message: String| DependencyError::Reference {
        message,
        help: Some("correct the front matter of the skill".to_owned()),
    };
    match read_bounded(&directory.join("SKILL.md")) {
        Ok(text) => SkillManifest::read("SKILL.md", &text).map_err(invalid),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(SkillManifest::default()),
        Err(error) => Err(invalid(format!("`SKILL.md` cannot be read: {error}"))),
    }
}

/// A depth-first walk that notices when it comes back to where it is.
struct Order<'c> {
    closure: &'c Closure,
    done: Vec<String>,
    path: Vec<String>,
}

impl Order<'_> {
    fn visit(&mut self, url: &str) -> Result<(), ResolveError> {
        if self.done.iter().any(|done| done == url) {
            return Ok(());
        }
        if let Some(start) = self.path.iter().position(|open| open == url) {
            let circle = self.path.iter().skip(start).map(String::as_str).chain([url]).map(str::to_owned);
            return Err(ResolveError::Circle { circle: circle.collect() });
        }
        self.path.push(url.to_owned());
        let closure = self.closure;
        for dependency in closure.nodes.get(url).map(|node| node.dependencies.as_slice()).unwrap_or_default()
        {
            self.visit(dependency)?;
        }
        self.path.pop();
        self.done.push(url.to_owned());
        Ok(())
    }
}
