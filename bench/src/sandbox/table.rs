//! The table that is printed in the end.

use super::rounds::Rounds;

/// Rows in the order in which they were measured.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<[String; COLUMNS]>);

const COLUMNS: usize = 6;

impl Table {
    /// A measurement beside another one of the same rounds.
    pub(super) fn compare(
        &mut self,
        metric: &str,
        rounds: &Rounds,
        (ours, baseline): (&str, &str),
        target: &str,
    ) {
        let Some(ratio) = rounds.median(|round| round.ratio(ours, baseline)) else { return };
        let least = |name| rounds.least(name).unwrap_or(f64::NAN);
        self.0.push([
            metric.to_owned(),
            rounds.seconds(ours).map(time).unwrap_or_default(),
            format!("{baseline} {}", rounds.seconds(baseline).map(time).unwrap_or_default()),
            format!("{ratio:.3}x"),
            format!("{:.3}x", least(ours) / least(baseline)),
            target.to_owned(),
        ]);
    }

    /// A measurement that stands for itself.
    pub(super) fn alone(&mut self, metric: &str, value: impl Into<String>, target: &str) {
        let [baseline, ratio, least] = [const { String::new() }; 3];
        self.0.push([metric.to_owned(), value.into(), baseline, ratio, least, target.to_owned()]);
    }

    /// Something that cannot be measured here.
    pub(super) fn skip(&mut self, metric: &str, reason: &str) {
        println!("SKIPPED {metric}: {reason}");
        self.alone(metric, "SKIPPED", "");
    }

    pub(super) fn print(&self) {
        let header = ["metric", "ours", "baseline", "ratio", "of minimums", "target"].map(str::to_owned);
        let rows: Vec<&[String; COLUMNS]> = std::iter::once(&header).chain(&self.0).collect();
        let mut widths = [0; COLUMNS];
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(*row) {
                *width = cell.chars().count().max(*width);
            }
        }
        for row in rows {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
            println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
    }
}

/// A time that people can read.
pub(super) fn time(seconds: f64) -> String {
    match seconds.abs() {
        1.0.. => format!("{seconds:.2} s"),
        0.001.. => format!("{:.3} ms", seconds * 1e3),
        0.000_001.. => format!("{:.1} µs", seconds * 1e6),
        _ => format!("{:.0} ns", seconds * 1e9),
    }
}
