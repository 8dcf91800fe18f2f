//! Reads what libFuzzer prints and sums it up in one line.

use std::collections::VecDeque;

use anyhow::{Result, bail};

/// How much of the log is shown when a run fails: enough for a panic message and its trace.
const KEPT_LINES: usize = 60;

/// What a run has said so far.
#[derive(Debug, Default)]
pub(crate) struct FuzzLog {
    first_coverage: Option<u64>,
    coverage: Option<u64>,
    corpus: Option<u64>,
    executions: Option<u64>,
    artifact: Option<String>,
    last_lines: VecDeque<String>,
}

impl FuzzLog {
    /// Takes the next line; true when it is worth showing. New inputs come by the thousand and are not.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        if let Some(coverage) = number_after(line, "cov:") {
            self.first_coverage.get_or_insert(coverage);
            self.coverage = Some(coverage);
        }
        self.corpus = number_after(line, "corp:").or(self.corpus);
        self.executions = number_after(line, "stat::number_of_executed_units:").or(self.executions);
        if let Some((_, path)) = line.split_once("Test unit written to ") {
            self.artifact = Some(path.to_owned());
        }
        if !is_status(line) {
            self.last_lines.push_back(line.to_owned());
            if self.last_lines.len() > KEPT_LINES {
                self.last_lines.pop_front();
            }
        }
        ["INITED", "pulse", "DONE"].iter().any(|event| is_status(line) && line.contains(event))
    }

    /// The closing line, or what went wrong.
    pub(crate) fn finish(self, succeeded: bool) -> Result<String> {
        if !succeeded {
            self.last_lines.iter().for_each(|line| println!("{line}"));
            match self.artifact {
                Some(path) => bail!("failing input: {path}"),
                None => bail!("the fuzzer stopped without naming an input"),
            }
        }
        let (Some(first), Some(last)) = (self.first_coverage, self.coverage) else {
            bail!("no coverage feedback: the instrumentation flags have no effect with this compiler");
        };
        let executions = self.executions.unwrap_or(0);
        let corpus = self.corpus.unwrap_or(0);
        Ok(format!(
            "{executions} executions, coverage {last} (seeds and corpus {first}), corpus {corpus} inputs"
        ))
    }
}

/// `#16  NEW    cov: 1094 ft: 2257 corp: 12/1217b …` or one of the lines that explain it
fn is_status(line: &str) -> bool {
    line.starts_with('#') || line.starts_with("\tNEW_FUNC")
}

/// The number that follows a label; `corp: 12/1217b` gives 12.
fn number_after(line: &str, label: &str) -> Option<u64> {
    let (_, rest) = line.split_once(label)?;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::FuzzLog;

    fn log(output: &str) -> (FuzzLog, Vec<&str>) {
        let mut log = FuzzLog::default();
        let shown = output.lines().filter(|line| log.line(line)).collect();
        (log, shown)
    }

    const GROWING: &str = "INFO: seed corpus: files: 10 min: 27b max: 299b total: 866b rss: 28Mb
#11\tINITED cov: 1081 ft: 2193 corp: 10/866b exec/s: 0 rss: 28Mb
\tNEW_FUNC[1/1]: 0x55feb5bf91d1
#14\tNEW    cov: 1088 ft: 2227 corp: 11/1165b lim: 299 exec/s: 0 rss: 28Mb L: 299/299 MS: 3 ChangeByte-
#900\tDONE   cov: 1500 ft: 2227 corp: 40/1165b lim: 299 exec/s: 0 rss: 28Mb
stat::number_of_executed_units: 900
";

    #[test]
    fn a_good_run_is_one_line() {
        let (log, shown) = log(GROWING);
        assert_eq!(shown.len(), 2, "{shown:?}");
        let summary = log.finish(true).unwrap();
        assert_eq!(summary, "900 executions, coverage 1500 (seeds and corpus 1081), corpus 40 inputs");
    }

    #[test]
    fn a_crash_names_the_input() {
        let (log, _) = log(
            "==7== ERROR: libFuzzer: deadly signal\nartifact_prefix='a/'; Test unit written to a/crash-1\n",
        );
        assert_eq!(log.finish(false).unwrap_err().to_string(), "failing input: a/crash-1");
    }

    #[test]
    fn a_run_without_coverage_is_a_failure() {
        let (log, _) = log("#2\tINITED ft: 1 corp: 1/1b\nstat::number_of_executed_units: 100000\n");
        assert!(log.finish(true).unwrap_err().to_string().contains("no coverage feedback"));
    }
}
