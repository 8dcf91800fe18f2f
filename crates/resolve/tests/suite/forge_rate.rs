//! Quotas: short waits are waited out, long ones are errors that say how long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fullsend_resolve::forge::{ForgeError, TokenUse};
use fullsend_testkit::{Reply, TestFile};
use jiff::Timestamp;

use super::support::{BOTH, Dialect, Stopped, World};

const NOON: i64 = 1_700_000_000;

fn world() -> (World, String) {
    let (mut world, commit) = World::holding(&[TestFile::new("s/a", "1")]);
    world.options.clock = Arc::new(Stopped(Timestamp::from_second(NOON).unwrap()));
    (world, commit)
}

fn used_up(status: u16, reset: i64) -> Reply {
    Reply::status(status).header("X-RateLimit-Remaining", "0").header("X-RateLimit-Reset", &reset.to_string())
}

/// The reset time that a limit is reported with.
fn limited(reply: &Reply) -> Option<i64> {
    let resets = BOTH.map(|dialect| {
        let (world, commit) = world();
        world.forge.interject(0, 1, reply.clone());
        let error = world.download(&dialect.tree(&commit, "s")).unwrap_err();
        let ForgeError::RateLimited { reset, token: TokenUse::None, .. } = error else { panic!("{error:?}") };
        assert_eq!(world.asked().len(), 1);
        reset.map(Timestamp::as_second)
    });
    assert_eq!(resets[0], resets[1]);
    resets[0]
}

#[test]
fn short_waits_are_waited_out() {
    let replies = [
        Reply::status(403).header("Retry-After", "1"),
        Reply::status(429).header("Retry-After", "1"),
        used_up(403, NOON + 1),
        used_up(429, NOON + 1),
        Reply::status(429)
            .header("RateLimit-Remaining", "0")
            .header("RateLimit-Reset", &(NOON + 1).to_string()),
        Reply::status(429).header("Retry-After", "Tue, 14 Nov 2023 22:13:21 GMT"),
    ];
    for (at, reply) in replies.into_iter().enumerate() {
        let (world, commit) = world();
        world.forge.interject(at % 2, 1, reply);
        let start = Instant::now();
        assert_eq!(world.download(&BOTH[at % 2].tree(&commit, "s")).unwrap().files.len(), 1, "{at}");
        assert!(start.elapsed() >= Duration::from_millis(990), "{at}");
        assert_eq!(world.asked().len(), 3, "{at}");
    }
}

#[test]
fn a_time_that_has_come_is_not_waited_for() {
    let (world, commit) = world();
    world.forge.interject(0, 1, used_up(403, NOON - 100));
    assert_eq!(world.download(&Dialect::GitHub.tree(&commit, "s")).unwrap().files.len(), 1);
}

#[test]
fn long_waits_are_errors_with_the_time() {
    assert_eq!(limited(&Reply::status(403).header("Retry-After", "31")), Some(NOON + 31));
    assert_eq!(limited(&Reply::status(429).header("Retry-After", "3600")), Some(NOON + 3600));
    assert_eq!(limited(&used_up(403, NOON + 1800)), Some(NOON + 1800));
    assert_eq!(limited(&used_up(429, NOON + 31)), Some(NOON + 31));
    let (world, commit) = world();
    world.forge.interject(0, 1, used_up(403, NOON + 1800));
    let error = world.download(&Dialect::GitHub.tree(&commit, "s")).unwrap_err();
    assert_eq!(error.code(), "forge-rate-limited");
    assert!(error.to_string().contains("until 2023-11-14T22:43:20Z"), "{error}");
    assert!(error.help().unwrap().contains("`GH_TOKEN` or `GITHUB_TOKEN`"));
}

#[test]
fn limits_without_a_time_are_errors_without_one() {
    let says = "{\"message\": \"You have exceeded a secondary Rate Limit.\"}";
    assert_eq!(limited(&Reply::status(403).body(says)), None);
    assert_eq!(limited(&Reply::status(429)), None);
    for nonsense in ["soon", "-", "99999999999999999999", "9223372036854775807"] {
        for status in [403, 429] {
            assert_eq!(limited(&Reply::status(status).header("Retry-After", nonsense)), None, "{nonsense}");
        }
        let reply =
            Reply::status(403).header("X-RateLimit-Remaining", "0").header("X-RateLimit-Reset", nonsense);
        assert_eq!(limited(&reply), None, "{nonsense}");
    }
}

#[test]
fn a_refusal_is_not_a_limit() {
    for dialect in BOTH {
        let (world, commit) = world();
        let reply =
            Reply::status(403).header("X-RateLimit-Remaining", "17").body("{\"message\": \"Forbidden\"}");
        world.forge.interject(0, 1, reply);
        assert_eq!(world.code(&dialect.tree(&commit, "s")), "forge-unauthorised");
    }
}

#[test]
fn patience_has_an_end() {
    let (mut world, commit) = world();
    world.forge.interject(0, 100, Reply::status(403).header("Retry-After", "0"));
    assert_eq!(world.code(&Dialect::GitHub.tree(&commit, "s")), "forge-rate-limited");
    assert_eq!(world.asked().len(), 4);
    world.options.max_wait = Duration::ZERO;
    let before = world.asked().len();
    world.forge.interject(0, 1, Reply::status(403).header("Retry-After", "1"));
    assert_eq!(world.code(&Dialect::GitHub.tree(&commit, "s")), "forge-rate-limited");
    assert_eq!(world.asked().len() - before, 4);
}

#[test]
fn waits_are_limited_together() {
    let (mut world, commit) = world();
    world.options.max_wait = Duration::from_millis(1500);
    world.forge.interject(0, 2, Reply::status(403).header("Retry-After", "1"));
    assert_eq!(world.code(&Dialect::GitHub.tree(&commit, "s")), "forge-rate-limited");
    assert_eq!(world.asked().len(), 2);
}

#[test]
fn a_limited_token_is_not_tried_without() {
    for dialect in BOTH {
        let (mut world, commit) = world();
        world.give_token(dialect.host(), "t0ken");
        world.forge.accept_token("t0ken", &[], 200);
        world.forge.interject(0, 1, used_up(403, NOON + 1800));
        let error = world.download(&dialect.tree(&commit, "s")).unwrap_err();
        assert!(matches!(error, ForgeError::RateLimited { token: TokenUse::Sent, .. }));
        assert_eq!(world.asked().len(), 1);
    }
}
