//! How moments are written: UTC with milliseconds.

use fullsend_guard::Clock;
use jiff::Timestamp;

/// The moment, as every file of a run writes it.
pub(crate) fn now(clock: &dyn Clock) -> String {
    written(clock.now())
}

fn written(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
