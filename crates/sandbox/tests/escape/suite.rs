//! All attacks on a backend: as the caller and as an ordinary user, in the first command of a session and in a later
//! one, when whatever the first left behind is there.

use std::collections::BTreeMap;
use std::path::Path;

use fullsend_sandbox::{
    ExecRequest, FilesystemMount, ResourceLimits, SandboxBackend, SandboxError, SandboxSession,
    SandboxSessionId, SandboxSpec,
};
use fullsend_testkit::declare_skip;

use super::attacks::{ATTACKS, Attack};
use super::fixture::Fixture;
use super::outcome::{End, Outcome};
use super::{plain, report};
use crate::support::backends::{Place, Start};
use crate::support::caller::{self, Elsewhere};
use crate::support::context::{Context, PROBE};
use crate::support::{host, probe};

/// Runs the attacks on a backend as the caller and as an ordinary user and prints the table; none may get through.
pub(crate) fn nothing_gets_through(test: &'static str, start: Start) {
    let probe = match probe::probe() {
        Ok(probe) => probe,
        Err(reason) => return declare_skip(test, reason),
    };
    let as_user = match caller::as_ordinary_user(test) {
        Elsewhere::Here => {
            let words: Vec<&str> = match column(test, start, probe) {
                Ok(outcomes) => outcomes.iter().map(Outcome::word).collect(),
                Err(_) => Vec::new(),
            };
            return caller::bear_witness(&words.join("\n"));
        }
        Elsewhere::Passed(words) => words.lines().map(Outcome::from_word).collect(),
        Elsewhere::Cannot(_) => Vec::new(),
    };
    match column(test, start, probe) {
        Ok(outcomes) => {
            let plain = plain::column(probe);
            let title = if caller::is_root() { "as root" } else { "as a user" };
            let mut columns: Vec<(&str, &[Outcome])> = vec![("no sandbox", &plain), (title, &outcomes)];
            if as_user.len() == outcomes.len() {
                columns.push(("as a user", &as_user));
            }
            println!("{}", report::table(&columns));
        }
        Err(reason) => declare_skip(test, &reason),
    }
}

/// All attacks on a backend by whoever runs this, twice over; an attack that got through is a failure at once.
fn column(test: &'static str, start: Start, probe: &Path) -> Result<Vec<Outcome>, String> {
    let place = Place::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let fixture = Fixture::new(probe);
        let backend = start(&place)?;
        let context = Context::new(backend, place, test, start);
        let (before, settings) = (fixture.state(), host::settings());
        let session = provision(&*context.backend, &fixture, probe).await;
        let mut rounds = Vec::new();
        for round in ["first", "second"] {
            rounds.push(attack_all(&context, &session.id, &fixture, round).await);
        }
        context.backend.terminate(&session.id).await.unwrap();
        assert_eq!(
            failures(&rounds),
            Vec::<String>::new(),
            "attacks on the {} sandbox",
            context.backend.name()
        );
        assert_eq!(fixture.state(), before, "what no attack may change");
        assert_eq!(host::settings(), settings, "the machine's settings");
        assert_eq!(host::identity_changers(&fixture.workspace()), ["planted-suid"]);
        host::expect_gone(context.mark());
        assert_eq!(host::mounts_with(&context.place.state().display().to_string()), Vec::<String>::new());
        host::wait_until("control groups gone", || host::groups_with(session.id.as_str()).is_empty());
        Ok(rounds.swap_remove(1))
    })
}

/// A session with all limits that can be enforced here.
async fn provision(backend: &dyn SandboxBackend, fixture: &Fixture, probe: &Path) -> SandboxSession {
    let limits = ResourceLimits {
        memory_mb: Some(256),
        cpu_count: Some(1),
        processes: Some(128),
        ..ResourceLimits::default()
    };
    let mounts = vec![
        FilesystemMount::read_write(fixture.workspace(), "/work"),
        FilesystemMount::read_only(fixture.workspace().join("sub/ro"), "/work/sub/ro"),
        FilesystemMount::read_only(probe.parent().unwrap(), "/attack"),
    ];
    let spec = SandboxSpec { mounts, limits, ..SandboxSpec::default() };
    match backend.provision(spec.clone()).await {
        Err(SandboxError::Unsupported { .. }) => {
            // Without control groups there are no such limits; the attacks do not depend on them.
            let limits = ResourceLimits { memory_mb: None, cpu_count: None, ..spec.limits };
            backend.provision(SandboxSpec { limits, ..spec }).await.unwrap()
        }
        other => other.unwrap(),
    }
}

async fn attack_all(
    context: &Context,
    id: &SandboxSessionId,
    fixture: &Fixture,
    round: &str,
) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for (number, attack) in ATTACKS.iter().enumerate() {
        let mut env: BTreeMap<String, String> = plain::variables(fixture, number, round, "/work");
        env.insert("P".to_owned(), PROBE.to_owned());
        env.insert("INIT".to_owned(), "1".to_owned());
        outcomes.push(attempt(context, id, attack, env).await);
    }
    outcomes
}

async fn attempt(
    context: &Context,
    id: &SandboxSessionId,
    attack: &Attack,
    env: BTreeMap<String, String>,
) -> Outcome {
    let timeout = Some(std::time::Duration::from_secs(60));
    let request =
        ExecRequest { env, timeout, cwd: Some("/work".to_owned()), ..context.line(plain::line(attack)) };
    match context.backend.exec(id, context.marked(request)).await {
        Ok(result) => {
            let (stdout, stderr) =
                (result.stdout.display().into_owned(), result.stderr.display().into_owned());
            Outcome::of(attack.how, &End { code: result.exit_code, signal: result.signal, stdout, stderr })
        }
        Err(error) => Outcome::Broken(error.to_string()),
    }
}

/// Everything that got through, and every attack that was not made.
fn failures(rounds: &[Vec<Outcome>]) -> Vec<String> {
    let mut found = Vec::new();
    for (round, outcomes) in rounds.iter().enumerate() {
        for (attack, outcome) in ATTACKS.iter().zip(outcomes) {
            if matches!(outcome, Outcome::Reached(_) | Outcome::Broken(_)) {
                found.push(format!("{} {} (command {}): {outcome}", attack.id, attack.name, round + 1));
            }
        }
    }
    found
}
