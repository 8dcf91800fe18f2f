//! `fullsend scan url`.

use std::net::{IpAddr, ToSocketAddrs as _};

use anyhow::Result;
use fullsend_guard::log::Phase;
use fullsend_guard::url::{Allowed, Verdict, judge, judge_addresses};
use fullsend_guard::{Finding, Span};

use super::Scan;
use crate::cli::ScanUrlArgs;
use crate::exit::Exit;
use crate::output::Output;
use crate::output::findings::Source;

/// Names resolve to the same addresses whatever the port; resolving takes one.
const ANY_PORT: u16 = 443;

pub(super) fn run(args: &ScanUrlArgs, output: &mut Output) -> Result<Exit> {
    let mut scan = Scan::new(&args.report, Phase::HookPreTool)?;
    let carries = scan.checks.request();
    for (number, url) in args.urls.iter().enumerate() {
        let verdict = judge(url);
        let named = verdict.finding();
        let resolved = if args.offline { None } else { resolve(&verdict) };
        let whole = Span::new(0, url.len());
        let carried = carries.run(url).findings;
        let findings =
            named.into_iter().chain(resolved).chain(carried).map(|finding| placed(finding, whole)).collect();
        scan.add(Source::Argument(number + 1), url, findings);
    }
    scan.finish(&args.report, output)
}

/// What the addresses of a name say. Whatever is refused by its name is not asked about: the question alone can tell
/// somebody something.
fn resolve(verdict: &Verdict) -> Option<Finding> {
    let host = match verdict {
        Verdict::Resolve { host } | Verdict::Ask { host, .. } => host,
        Verdict::Allow { .. } | Verdict::Reject { .. } | Verdict::Block { .. } => return None,
    };
    if host.is_empty() || host.parse::<IpAddr>().is_ok() {
        return None;
    }
    let answer = (host.as_str(), ANY_PORT).to_socket_addrs();
    let addresses: Vec<IpAddr> = answer.into_iter().flatten().map(|address| address.ip()).collect();
    judge_addresses(host, &addresses, &Allowed::nothing_more())
}

fn placed(mut finding: Finding, whole: Span) -> Finding {
    finding.span = finding.span.or(Some(whole));
    finding
}
