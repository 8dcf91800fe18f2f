//! How moments are written: UTC with milliseconds, so that their order is that of their letters.

use jiff::Timestamp;

pub(super) fn written(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
