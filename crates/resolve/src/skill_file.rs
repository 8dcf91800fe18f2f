//! What a skill says about itself that matters for resolution: the skills it depends on.
//!
//! `SKILL.md` belongs to the Agent Skills format, which other tools extend, so keys that are not ours are left alone.

use fullsend_yaml::{FromNode, Limits, Location, Node, Reader, SourceMap, Value, front_matter, parse_part};

/// The part of a skill's front matter that resolution reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillManifest {
    /// References to other skills, as written.
    pub dependencies: Vec<String>,
    /// Whether the skill names a policy, which is not applied.
    pub names_policy: bool,
}

impl SkillManifest {
    /// Reads the text of a `SKILL.md`; one without front matter depends on nothing.
    ///
    /// # Errors
    /// What is wrong with the front matter, with its line.
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let Some(found) = front_matter(text) else { return Ok(Self::default()) };
        let mut sources = SourceMap::new();
        let file = sources.add(name, text);
        let parsed = parse_part(&sources, file, found.yaml, Limits::default());
        let mut problems = parsed.problems;
        let manifest = parsed.root.map(|root| manifest(&root, &mut Reader::new(&mut problems)));
        match problems.first() {
            None => Ok(manifest.unwrap_or_default()),
            Some(problem) => {
                Err(format!("`SKILL.md` line {}: {}", line(&sources, problem.at), problem.message))
            }
        }
    }
}

fn line(sources: &SourceMap, at: Location) -> usize {
    sources.resolve(at).map_or(1, |(_, position)| position.line)
}

fn manifest(root: &Node<'_>, reader: &mut Reader<'_>) -> SkillManifest {
    let Value::Mapping(entries) = &root.value else { return SkillManifest::default() };
    let value = |key: &str| entries.iter().find(|entry| entry.key == key && !entry.value.is_null());
    let dependencies = value("dependencies")
        .and_then(|entry| reader.at_key("dependencies", |reader| Vec::from_node(&entry.value, reader)))
        .unwrap_or_default();
    SkillManifest { dependencies, names_policy: value("policy").is_some() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read_and_other_keys_left_alone() {
        let read = |text: &str| SkillManifest::read("SKILL.md", text);
        assert_eq!(read("# Plain\n"), Ok(SkillManifest::default()));
        assert_eq!(read("---\nname: x\nunclosed"), Ok(SkillManifest::default()));
        let manifest =
            read("---\nname: x\nlicense: MIT\ndependencies: [../b, 1]\npolicy: p.yaml\n---\n").unwrap();
        assert_eq!(manifest.dependencies, ["../b", "1"]);
        assert!(manifest.names_policy);
        assert_eq!(read("\u{feff}--- \r\ndependencies:\r\n- a\r\n---\r\n").unwrap().dependencies, ["a"]);
        let error = read("---\nname: x\ndependencies: b\n---\n").unwrap_err();
        assert!(error.starts_with("`SKILL.md` line 3: `dependencies` must be a list"), "{error}");
        assert!(read("---\na: b: c\n---\n").is_err());
    }
}
