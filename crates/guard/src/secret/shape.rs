//! Tokens that their makers gave a fixed prefix. The file is mostly a table.

use super::check::{self, Known};
use super::hit::{Hit, mask_keeping};
use super::rules;
use super::run::{Class, Runs};
use crate::finding::Span;
use crate::rule::Rule;
use crate::severity::Severity;

/// How a token with a fixed prefix is built.
#[derive(Debug)]
pub(super) struct Shape {
    /// How it begins.
    pub(super) prefix: &'static str,
    rule: &'static Rule,
    /// What follows.
    class: Class,
    /// The least and the most characters that follow.
    least: usize,
    most: usize,
    /// Whether a letter, digit or underscore may stand before the prefix.
    left: Left,
    check: Check,
    /// What a finding says about a token that is built as it should be.
    note: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// The prefix is so odd that it needs no edge.
    Any,
    /// The prefix also occurs inside words and encoded data.
    Edge,
}

#[derive(Clone, Copy, Debug)]
enum Check {
    /// The form says enough.
    None,
    /// The last six characters are a checksum of the thirty before.
    Checksum,
    FinePat,
    ServerToken,
    /// Exactly as long as `most`; what is longer is rather something else.
    Length,
    Random,
    /// Exactly as long as `most`, and random. The prefix alone says little.
    Drawn,
    Macaroon,
    Sendgrid,
    /// Not a secret in itself.
    Publishable,
}

const MANY: usize = usize::MAX;

const fn shape(prefix: &'static str, rule: &'static Rule, class: Class, least: usize, most: usize) -> Shape {
    let note = "has the form of its provider";
    Shape { prefix, rule, class, least, most, left: Left::Any, check: Check::None, note }
}

/// A token of a service that has no rule of its own.
const fn service(prefix: &'static str, note: &'static str, class: Class, least: usize, most: usize) -> Shape {
    Shape { note, left: Left::Edge, ..shape(prefix, &rules::SERVICE_TOKEN, class, least, most) }
}

impl Shape {
    const fn checked(self, check: Check) -> Self {
        Self { check, ..self }
    }

    const fn at_edge(self) -> Self {
        Self { left: Left::Edge, ..self }
    }
}

use Class::{Alnum, Base64, Dotted, Hex, Padded, Underscored, Upper, Word};

/// All of them.
pub(super) static SHAPES: [Shape; 111] = [
    shape("ghp_", &rules::GITHUB_PAT, Underscored, 36, MANY).checked(Check::Checksum),
    shape("gho_", &rules::GITHUB_OAUTH, Underscored, 36, MANY).checked(Check::Checksum),
    shape("ghu_", &rules::GITHUB_USER_TOKEN, Underscored, 36, MANY).checked(Check::Checksum),
    shape("ghr_", &rules::GITHUB_REFRESH_TOKEN, Underscored, 36, MANY).checked(Check::Checksum),
    shape("ghs_", &rules::GITHUB_SERVER_TOKEN, Dotted, 16, MANY).checked(Check::ServerToken),
    shape("github_pat_", &rules::GITHUB_FINE_PAT, Underscored, 22, MANY).checked(Check::FinePat),
    shape("AKIA", &rules::AWS_ACCESS_KEY, Upper, 16, 16).at_edge(),
    shape("ASIA", &rules::AWS_ACCESS_KEY, Upper, 16, 16).at_edge().checked(Check::Length),
    shape("AIza", &rules::GOOGLE_API_KEY, Word, 35, 35).at_edge().checked(Check::Length),
    shape("glpat-", &rules::GITLAB_PAT, Dotted, 20, MANY),
    shape("gldt-", &rules::GITLAB_TOKEN, Word, 20, MANY),
    shape("glrt-", &rules::GITLAB_TOKEN, Dotted, 20, MANY),
    shape("glcbt-", &rules::GITLAB_TOKEN, Word, 20, MANY),
    shape("glptt-", &rules::GITLAB_TOKEN, Word, 20, MANY),
    shape("glft-", &rules::GITLAB_TOKEN, Word, 20, MANY),
    shape("glsoat-", &rules::GITLAB_TOKEN, Word, 20, MANY),
    shape("glimt-", &rules::GITLAB_TOKEN, Word, 20, MANY),
    shape("glagent-", &rules::GITLAB_TOKEN, Word, 20, MANY),
    shape("xoxb-", &rules::SLACK_TOKEN, Word, 10, MANY).checked(Check::Random),
    shape("xoxa-", &rules::SLACK_TOKEN, Word, 10, MANY).checked(Check::Random),
    shape("xoxp-", &rules::SLACK_TOKEN, Word, 10, MANY).checked(Check::Random),
    shape("xoxr-", &rules::SLACK_TOKEN, Word, 10, MANY).checked(Check::Random),
    shape("xoxs-", &rules::SLACK_TOKEN, Word, 10, MANY).checked(Check::Random),
    shape("xoxe.", &rules::SLACK_TOKEN, Dotted, 20, MANY).checked(Check::Random),
    shape("xapp-", &rules::SLACK_TOKEN, Word, 20, MANY).checked(Check::Random),
    shape("sk_live_", &rules::STRIPE_LIVE, Alnum, 10, MANY).at_edge(),
    shape("rk_live_", &rules::STRIPE_LIVE, Alnum, 10, MANY).at_edge(),
    shape("pk_live_", &rules::STRIPE_LIVE, Alnum, 10, MANY).at_edge().checked(Check::Publishable),
    shape("sk_test_", &rules::STRIPE_TEST, Alnum, 10, MANY).at_edge(),
    shape("rk_test_", &rules::STRIPE_TEST, Alnum, 10, MANY).at_edge(),
    shape("pk_test_", &rules::STRIPE_TEST, Alnum, 10, MANY).at_edge().checked(Check::Publishable),
    shape("sk-proj-", &rules::OPENAI_PROJ, Word, 20, MANY).at_edge().checked(Check::Random),
    shape("sk-ant-", &rules::ANTHROPIC_KEY, Word, 20, MANY).at_edge().checked(Check::Random),
    shape("sk-", &rules::OPENAI_KEY, Word, 20, MANY).at_edge().checked(Check::Random),
    shape("npm_", &rules::NPM_TOKEN, Alnum, 36, 36).checked(Check::Checksum),
    shape("pypi-", &rules::PYPI_TOKEN, Word, 20, MANY).checked(Check::Macaroon),
    shape("hf_", &rules::HF_TOKEN, Alnum, 34, MANY).at_edge(),
    shape("SG.", &rules::SENDGRID_KEY, Dotted, 43, MANY).at_edge().checked(Check::Sendgrid),
    shape("dop_v1_", &rules::DIGITALOCEAN_TOKEN, Hex, 64, 64),
    shape("doo_v1_", &rules::DIGITALOCEAN_TOKEN, Hex, 64, 64),
    shape("pplx-", &rules::PERPLEXITY_KEY, Alnum, 40, MANY),
    shape("dapi", &rules::DATABRICKS_TOKEN, Hex, 32, 32).at_edge(),
    shape("hvs.", &rules::VAULT_TOKEN, Word, 24, MANY).at_edge(),
    shape("AGE-SECRET-KEY-", &rules::AGE_SECRET_KEY, Upper, 59, 59),
    shape("xoxc-", &rules::SLACK_TOKEN, Word, 20, MANY).checked(Check::Random),
    shape("xoxd-", &rules::SLACK_TOKEN, Word, 20, MANY).checked(Check::Random),
    shape("xoxe-", &rules::SLACK_TOKEN, Word, 20, MANY).checked(Check::Random),
    shape("gloas-", &rules::GITLAB_TOKEN, Word, 20, MANY),
    shape("whsec_", &rules::STRIPE_LIVE, Padded, 24, MANY).at_edge().checked(Check::Random),
    shape("dor_v1_", &rules::DIGITALOCEAN_TOKEN, Hex, 64, 64),
    shape("hvb.", &rules::VAULT_TOKEN, Word, 24, MANY).at_edge(),
    shape("hvr.", &rules::VAULT_TOKEN, Word, 24, MANY).at_edge(),
    shape("ya29.", &rules::GOOGLE_OAUTH, Dotted, 30, MANY).at_edge(),
    shape("GOCSPX-", &rules::GOOGLE_OAUTH, Word, 24, MANY).at_edge(),
    shape("1//0", &rules::GOOGLE_OAUTH, Word, 40, MANY).at_edge().checked(Check::Random),
    service("shpat_", "a Shopify token", Alnum, 32, MANY),
    service("shpca_", "a Shopify token", Alnum, 32, MANY),
    service("shppa_", "a Shopify token", Alnum, 32, MANY),
    service("shpss_", "a Shopify secret", Alnum, 32, MANY),
    service("sq0atp-", "a Square token", Word, 22, MANY),
    service("sq0csp-", "a Square secret", Word, 40, MANY),
    service("key-", "a Mailgun key", Alnum, 32, 32).checked(Check::Drawn),
    service("ATATT3", "an Atlassian token", Padded, 40, MANY),
    service("ATCTT3", "an Atlassian token", Padded, 40, MANY),
    service("ATBB", "a Bitbucket password", Alnum, 32, 32).checked(Check::Drawn),
    service("lin_api_", "a Linear key", Alnum, 32, MANY),
    service("lin_oauth_", "a Linear token", Alnum, 32, MANY),
    service("secret_", "a Notion token", Alnum, 43, 43).checked(Check::Drawn),
    service("ntn_", "a Notion token", Alnum, 40, MANY).checked(Check::Random),
    service("sbp_", "a Supabase token", Hex, 40, MANY),
    service("sb_secret_", "a Supabase key", Word, 24, MANY),
    service("vcp_", "a Vercel token", Alnum, 24, MANY).checked(Check::Random),
    service("vck_", "a Vercel key", Alnum, 24, MANY).checked(Check::Random),
    service("fm2_", "a Fly token", Base64, 40, MANY).checked(Check::Random),
    service("fo1_", "a Fly token", Word, 40, MANY).checked(Check::Random),
    service("dp.pt.", "a Doppler token", Alnum, 40, MANY),
    service("dp.st.", "a Doppler token", Dotted, 40, MANY),
    service("dp.ct.", "a Doppler token", Alnum, 40, MANY),
    service("dp.sa.", "a Doppler token", Alnum, 40, MANY),
    service("glsa_", "a Grafana token", Underscored, 32, MANY),
    service("glc_", "a Grafana token", Padded, 32, MANY).checked(Check::Random),
    service("eyJrIjoi", "a Grafana key", Base64, 60, MANY),
    service("NRAK-", "a New Relic key", Upper, 27, MANY),
    service("NRII-", "a New Relic key", Word, 32, MANY),
    service("pscale_tkn_", "a PlanetScale token", Dotted, 32, MANY),
    service("pscale_pw_", "a PlanetScale password", Dotted, 32, MANY),
    service("pscale_oauth_", "a PlanetScale token", Dotted, 32, MANY),
    service("PMAK-", "a Postman key", Word, 59, MANY),
    service("rubygems_", "a RubyGems key", Hex, 48, MANY),
    service("cio", "a token for publishing crates", Alnum, 32, 32).checked(Check::Drawn),
    service("dckr_pat_", "a Docker token", Word, 24, MANY),
    service("dckr_oat_", "a Docker token", Word, 24, MANY),
    shape(".atlasv1.", &rules::SERVICE_TOKEN, Word, 60, MANY),
    service("ops_eyJ", "a 1Password token", Padded, 60, MANY),
    service("v1.0-", "a Cloudflare origin key", Word, 100, MANY).checked(Check::Random),
    service("xkeysib-", "a Brevo key", Word, 64, MANY),
    service("r8_", "a Replicate token", Alnum, 37, 37).checked(Check::Drawn),
    service("gsk_", "a Groq key", Alnum, 52, 52).checked(Check::Drawn),
    service("xai-", "an xAI key", Alnum, 70, MANY).checked(Check::Random),
    service("nvapi-", "an NVIDIA key", Word, 60, MANY),
    service("phx_", "a PostHog key", Alnum, 40, MANY).checked(Check::Random),
    service("tskey-", "a Tailscale key", Word, 24, MANY).checked(Check::Random),
    service("pul-", "a Pulumi token", Hex, 40, 40).checked(Check::Drawn),
    service("figd_", "a Figma token", Word, 36, MANY),
    service("sntrys_", "a Sentry token", Padded, 60, MANY),
    service("sntryu_", "a Sentry token", Hex, 64, MANY),
    service("CFPAT-", "a Contentful token", Word, 40, MANY),
    service("sgp_", "a Sourcegraph token", Underscored, 40, MANY).checked(Check::Random),
    service("LTAI", "an Alibaba Cloud key id", Alnum, 12, 20).checked(Check::Random),
    service("ABSK", "a Bedrock key", Base64, 100, MANY).checked(Check::Random),
    service("rnd_", "a Render key", Alnum, 28, 40).checked(Check::Random),
];

/// The token of this shape that begins at `at`.
pub(super) fn find(shape: &Shape, text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
    let bytes = text.as_bytes();
    let before = at.checked_sub(1).and_then(|before| bytes.get(before)).copied().unwrap_or(b' ');
    let inside =
        before.is_ascii_alphanumeric() || before == b'_' || (shape.class.has(before) && before != b'=');
    if shape.left == Left::Edge && inside {
        return None;
    }
    let body_at = at + shape.prefix.len();
    let run = runs.end(bytes, body_at, shape.class);
    let end = run.min(body_at.saturating_add(shape.most));
    let body = trimmed(text.get(body_at..end)?, shape.class);
    if body.len() < shape.least || !runs.may_judge(run) {
        return None;
    }
    let whole = Span::new(at, body_at + body.len());
    let (severity, note) = judge(shape, body, run > end)?;
    let mask = mask_keeping(whole.of(text)?, shape.prefix.len());
    Some(Hit { span: whole, rule: shape.rule, severity, mask, note })
}

/// Without the dot that ends a sentence.
fn trimmed(body: &str, class: Class) -> &str {
    if class == Dotted { body.trim_end_matches(['.', '-']) } else { body }
}

/// How bad a token with this body is; none when it is no token.
fn judge(shape: &Shape, body: &str, goes_on: bool) -> Option<(Severity, &'static str)> {
    let usual = shape.rule.severity;
    let as_built = Some((usual, shape.note));
    let unlikely = Some((Severity::Medium, "has only the beginning of its provider's form"));
    if check::is_example(body) {
        return Some((Severity::Low, "looks like an example in documentation"));
    }
    match shape.check {
        Check::None => as_built,
        Check::Length => {
            if goes_on {
                unlikely
            } else {
                as_built
            }
        }
        Check::Drawn => {
            (!goes_on && check::randomness(body) == check::Randomness::Random).then_some(())?;
            as_built
        }
        Check::Publishable => Some((Severity::Low, "is meant to be published")),
        Check::Checksum => Some(checksum(usual, body)),
        Check::FinePat => {
            let whole = body.len() == 82 && body.as_bytes().get(22) == Some(&b'_');
            if whole { as_built } else { Some((Severity::High, "has not the length of its provider's form")) }
        }
        Check::ServerToken if body.contains('.') => match check::server_token(body)? {
            Known::Decoded => as_built,
            Known::Form => Some((Severity::High, "holds no decodable token")),
        },
        Check::ServerToken if body.len() < 36 => None,
        Check::ServerToken => Some(checksum(usual, body)),
        // Longer prefixes that begin the same way are shapes of their own.
        Check::Random if shape.prefix == "sk-" && (body.starts_with("proj-") || body.starts_with("ant-")) => {
            None
        }
        Check::Random => match check::randomness(body) {
            check::Randomness::Random => as_built,
            check::Randomness::Mixed => Some((Severity::Medium, "is less random than its provider's form")),
            check::Randomness::Words => None,
        },
        Check::Macaroon if body.starts_with("AgE") && body.len() >= 50 => as_built,
        Check::Macaroon
            if body.len() >= 50 && !matches!(check::randomness(body), check::Randomness::Words) =>
        {
            Some((Severity::High, "holds no macaroon"))
        }
        Check::Macaroon => None,
        Check::Sendgrid => {
            let (id, key) = body.split_once('.')?;
            (id.len() >= 20 && key.len() >= 20 && !key.contains('.')).then_some(())?;
            as_built
        }
    }
}

fn checksum(usual: Severity, body: &str) -> (Severity, &'static str) {
    if check::checksum_fits(body) {
        (usual, "checksum fits")
    } else {
        (Severity::High, "checksum does not fit")
    }
}
