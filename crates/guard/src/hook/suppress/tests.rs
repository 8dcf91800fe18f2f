use super::summary;

const PRE_COMMIT: &str = "trim trailing whitespace.................Passed\ncheck yaml...........(no files to check)Skipped\nmypy....................................Passed\n";
const FIXED: &str = "trim.......Passed\nend of files.....Fixed\nFixing b.py\nFixing a.py\nFixing a.py\n";
const GO: &str = "ok  \texample.org/a\t0.123s\nok  \texample.org/b\t1.456s\n?   \texample.org/d\t[no test files]\nok  \texample.org/c\t0.789s\n";
const PYTEST: &str = "===== test session starts =====\ncollected 12 items\n\n..... [100%]\n===== 12 passed, 1 skipped, 2 warnings in 0.34s =====\n";

#[test]
fn what_passed_is_one_line() {
    let cases = [
        ("scan-secrets foo.go bar.go", "No leaks found\n", "scan-secrets: passed (no findings)"),
        ("./tools/scan-secrets .", "0 findings", "scan-secrets: passed (no findings)"),
        ("gitleaks detect --source .", "INF no leaks found", "gitleaks: passed (no leaks detected)"),
        ("pre-commit run --all-files", PRE_COMMIT, "pre-commit: all 3 hooks passed"),
        ("pre-commit run", "", "pre-commit: passed"),
        (
            "pre-commit run",
            FIXED,
            "pre-commit: auto-fixed [a.py, b.py] — re-stage modified files before commit",
        ),
        ("go test ./...", GO, "tests: 3 packages passed (2.4s)"),
        ("cd sub && go test ./... 2>&1", GO, "tests: 3 packages passed (2.4s)"),
        ("go test ./a", "ok  \texample.org/a\t(cached)\n", "tests: 1 packages passed (0.0s)"),
        ("pytest -x", PYTEST, "tests: 12 passed (0.34s)"),
        ("CI=1 uv run python -m pytest -q", "12 passed in 0.34s", "tests: 12 passed (0.34s)"),
        ("npm test", "42 passing (3s)", "tests: passed"),
        ("npm test", "should render error-boundary component\n 42 passing", "tests: passed"),
        ("make test", "all 3 tests OK", "tests: passed"),
        ("make check", "PASS: one", "tests: passed"),
        ("go vet ./...", "", "go vet: clean"),
        ("go build ./...", "\n", "go build: clean"),
        ("golangci-lint run", "", "golangci-lint: clean"),
        ("npx eslint .", "", "eslint: clean"),
        ("ruff check .", "", "ruff: clean"),
        ("ruff format --check", "", "ruff-format: clean"),
        ("make lint", "", "lint: clean"),
        ("gitlint", "", "gitlint: passed"),
    ];
    for (command, output, expected) in cases {
        assert_eq!(summary(command, output).as_deref(), Some(expected), "{command}");
    }
}

#[test]
fn more_than_ten_fixed_files_are_counted() {
    let files: String = (10..22).map(|number| format!("Fixing f{number}.py\n")).collect();
    let line = summary("pre-commit run", &format!("black....Fixed\n{files}")).unwrap();
    assert!(line.contains("[f10.py, f11.py,") && line.contains("f19.py (+2 more)]"), "{line}");
}

#[test]
fn what_is_not_plainly_a_success_stays() {
    let cases = [
        ("scan-secrets foo.go", "Exit code 1\nSecret detected; no leaks elsewhere"),
        ("scan-secrets foo.go", ""),
        ("gitleaks detect --source .", ""),
        ("pre-commit run", "black....Failed\n- files were modified\nFixing a.py\n"),
        ("pre-commit run", "black....Fixed\n"),
        ("pre-commit run", "An error has occurred\n"),
        ("go test ./...", ""),
        ("go test ./...", "ok  \tp/a\t0.1s\nFAIL\tp/b [build failed]\n"),
        ("go test ./...", "ok  \tp/a\t0.1s\nFAIL\n"),
        ("pytest", "2 passed, 1 failed"),
        ("pytest", "===== 1 failed, 2 passed in 0.1s ====="),
        ("pytest", "===== 2 passed, 1 error in 0.1s ====="),
        ("npm test", "42 passing\n1 failing"),
        ("npm test", ""),
        ("make test", "checking token validation\nlookup table ready"),
        ("make test", "ok\nerror: x"),
        ("go vet ./...", "x.go:1: suspicious"),
        ("gitlint", "1: T1 title too long"),
        // More than one command: what the others print must not vanish.
        ("go vet ./... ; cat x", ""),
        ("go test ./... && git diff", GO),
        ("go test ./... | tee log", GO),
        ("go test ./...\ngit diff", GO),
        ("cd $(cat x) && go vet", ""),
        // Not the check itself.
        ("echo pytest", "12 passed in 0.34s"),
        ("cat go test", GO),
        ("make", "ok"),
        ("gotest", GO),
        ("", ""),
    ];
    for (command, output) in cases {
        assert_eq!(summary(command, output), None, "{command}: {output}");
    }
}
