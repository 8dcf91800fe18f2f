//! Feeds arbitrary text to the YAML reader and to every document type: it may be refused, but nothing may panic, hang
//! or run out of memory, and every problem must have a place and a remedy.
#![no_main]

use fullsend_harness::schema::{AgentDefinition, ConfigFile, HarnessFile, Profile, ProviderDefinition};
use fullsend_yaml::{Diagnostic, FromNode, Limits, Node, Reader, SourceMap, front_matter, parse, parse_part};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut sources = SourceMap::new();
    let file = sources.add("fuzz.yaml", text);
    let parsed = parse(&sources, file, Limits::default());
    assert!(parsed.root.is_some() || !parsed.problems.is_empty(), "refused without a reason");
    check(&sources, &parsed.problems);
    if let Some(root) = &parsed.root {
        let harness: Option<HarnessFile> = read(&sources, root);
        read::<ConfigFile>(&sources, root);
        read::<ProviderDefinition>(&sources, root);
        read::<Profile>(&sources, root);
        if let Some(harness) = harness {
            drop(fullsend_harness::resources::resources(&harness));
            drop(fullsend_harness::compose::merge(harness.clone(), harness));
        }
    }
    if let Some(found) = front_matter(text) {
        let parsed = parse_part(&sources, file, found.yaml, Limits::default());
        check(&sources, &parsed.problems);
        if let Some(root) = &parsed.root {
            let mut problems = Vec::new();
            AgentDefinition::read(root, &mut Reader::new(&mut problems));
            check(&sources, &problems);
        }
    }
});

fn read<T: FromNode>(sources: &SourceMap, root: &Node<'_>) -> Option<T> {
    let mut problems = Vec::new();
    let value = T::from_node(root, &mut Reader::new(&mut problems));
    assert!(value.is_some() || !problems.is_empty(), "refused without a reason");
    check(sources, &problems);
    value
}

fn check(sources: &SourceMap, problems: &[Diagnostic]) {
    for problem in problems {
        assert!(sources.resolve(problem.at).is_some(), "a problem without a place");
        assert!(!problem.help().is_empty(), "a problem without a remedy");
    }
}
