//! An agent definition under the name by which it is run.

/// `source` with this name in its front matter, and a description. Claude Code knows agents by what the front matter calls
/// them, and passes over those that lack a name or a description, whatever their files are called.
pub(super) fn named(source: &str, name: &str) -> String {
    let (matter, body) = front_matter(source).unwrap_or(("", source));
    let kept = without(matter, "name");
    let has_description = kept.lines().any(|line| line.starts_with("description:"));
    let description = if has_description { "" } else { "description: The agent of this run.\n" };
    format!("---\nname: \"{name}\"\n{description}{kept}---\n{body}")
}

/// The text between the first two lines of three hyphens, and what follows them.
fn front_matter(source: &str) -> Option<(&str, &str)> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let rest = source.strip_prefix("---\n").or_else(|| source.strip_prefix("---\r\n"))?;
    let mut start = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((rest.get(..start)?, rest.get(start + line.len()..)?));
        }
        start += line.len();
    }
    None
}

/// `matter` without a key, and without the lines that go on with its value.
fn without(matter: &str, key: &str) -> String {
    let mut inside = false;
    let mut kept = String::with_capacity(matter.len());
    for line in matter.split_inclusive('\n') {
        let is_key = line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
        inside = is_key || inside && line.starts_with([' ', '\t']);
        if !inside {
            kept.push_str(line);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn every_definition_gets_the_name_it_is_run_by() {
        for (source, expected) in [
            ("Do it.\n", "---\nname: \"rev\"\ndescription: The agent of this run.\n---\nDo it.\n"),
            (
                "---\nname: x\ndescription: d\ntools: Read\n---\nGo\n",
                "---\nname: \"rev\"\ndescription: d\ntools: Read\n---\nGo\n",
            ),
            (
                "---\nname: >\n  a\n  b\ndescription: d\n---\nGo",
                "---\nname: \"rev\"\ndescription: d\n---\nGo",
            ),
            ("---\r\ndescription: d\r\n---\r\nGo", "---\nname: \"rev\"\ndescription: d\r\n---\nGo"),
            (
                "---\nnever closed",
                "---\nname: \"rev\"\ndescription: The agent of this run.\n---\n---\nnever closed",
            ),
            ("---\nnames: 1\ndescription: d\n---\n", "---\nname: \"rev\"\nnames: 1\ndescription: d\n---\n"),
        ] {
            assert_eq!(named(source, "rev"), expected);
        }
    }
}
