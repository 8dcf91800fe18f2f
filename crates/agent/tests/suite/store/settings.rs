//! A resumed run may do what it could do from the start, or less.

use fullsend_agent::gate::{FlowMode, PromptRole};
use fullsend_agent::store::{MountAccess, RecordedMount, RecordedRoot, RecordedSettings};

use super::sample::settings;

type Change = fn(&mut RecordedSettings);

#[test]
fn the_same_or_less() {
    let table: &[Change] = &[
        |_| {},
        |asked| asked.tools.clear(),
        |asked| asked.subagent_profiles.clear(),
        |asked| asked.skill_scripts.clear(),
        |asked| asked.mounts.clear(),
        |asked| asked.mounts[0].access = MountAccess::ReadOnly,
        |asked| asked.sandbox.network_hosts.clear(),
        |asked| asked.model = "model-2".to_owned(),
        |asked| asked.limits.model_turns = Some(39),
        |asked| asked.limits.output_tokens = Some(1),
        |asked| asked.limits.cost_usd = Some(0.0),
        |asked| asked.flow_mode = FlowMode::EnforceStrict,
        |asked| asked.prompt_role = PromptRole::Quote,
        |asked| asked.skills_roots.clear(),
    ];
    for (number, change) in table.iter().enumerate() {
        let mut asked = settings();
        change(&mut asked);
        assert_eq!(settings().narrows(&asked), Ok(asked), "row {number}");
    }
    // Where commands start is for the record to say.
    let asked = RecordedSettings { start_dir: "/elsewhere".to_owned(), ..settings() };
    assert_eq!(settings().narrows(&asked), Ok(settings()));
}

#[test]
fn more_is_refused_by_name() {
    let table: &[(&str, Change)] = &[
        ("workspace", |asked| asked.workspace = "/".into()),
        ("tools", |asked| asked.tools.extend(["web_fetch".to_owned()])),
        ("subagentProfiles", |asked| asked.subagent_profiles.extend(["all".to_owned()])),
        ("skillScripts", |asked| asked.skill_scripts.extend(["pdf:scripts/other.sh".to_owned()])),
        ("mounts", |asked| asked.mounts[1].access = MountAccess::ReadWrite),
        ("mounts", |asked| asked.mounts[0].sandbox = "/etc".to_owned()),
        ("mounts", |asked| {
            let access = MountAccess::ReadOnly;
            asked.mounts.push(RecordedMount { host: "/".into(), sandbox: "/host".to_owned(), access });
        }),
        ("sandbox.backend", |asked| asked.sandbox.backend = "docker".to_owned()),
        ("sandbox.image", |asked| asked.sandbox.image = Some("other".to_owned())),
        ("sandbox.runtime", |asked| asked.sandbox.runtime = Some("runc".to_owned())),
        ("sandbox.networkHosts", |asked| asked.sandbox.network_hosts.extend(["*".to_owned()])),
        ("gateway.url", |asked| asked.gateway.url.push('x')),
        ("gateway.auth", |asked| asked.gateway.auth = "none".to_owned()),
        ("limits.modelTurns", |asked| asked.limits.model_turns = Some(41)),
        ("limits.toolCalls", |asked| asked.limits.tool_calls = None),
        ("limits.totalTokens", |asked| asked.limits.total_tokens = Some(u64::MAX)),
        ("limits.costUsd", |asked| asked.limits.cost_usd = Some(f64::NAN)),
        ("limits.seconds", |asked| asked.limits.seconds = None),
        ("limits.outputBytes", |asked| asked.limits.output_bytes = None),
        ("flowMode", |asked| asked.flow_mode = FlowMode::Observe),
        ("skillsRoots", |asked| asked.skills_roots[0].digest = "sha256:9".to_owned()),
        ("skillsRoots", |asked| {
            asked.skills_roots.push(RecordedRoot { path: "/more".into(), digest: "sha256:1".to_owned() });
        }),
        ("structuredResult", |asked| asked.structured_result = None),
        ("canaryFile", |asked| asked.canary_file = None),
        ("promptSlot", |asked| asked.provenance.prompt_slot = None),
        ("runManifest", |asked| asked.provenance.run_manifest = None),
    ];
    for (setting, change) in table {
        let mut asked = settings();
        change(&mut asked);
        let widened = settings().narrows(&asked).unwrap_err();
        assert_eq!(widened.what.iter().map(|what| what.setting).collect::<Vec<_>>(), [*setting]);
        assert!(widened.to_string().contains(setting), "{widened}");
    }
    let quote = RecordedSettings { prompt_role: PromptRole::Quote, ..settings() };
    assert_eq!(quote.narrows(&settings()).unwrap_err().what[0].setting, "promptRole");
    let all = RecordedSettings::default().narrows(&settings()).unwrap_err();
    assert!(all.what.len() > 8, "{all}");
}
