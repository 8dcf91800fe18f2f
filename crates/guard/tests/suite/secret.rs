//! What the secret scanner masks, and what it leaves alone.

use fullsend_guard::{Scanner, SecretScanner, Severity};
use proptest::prelude::*;

/// The text after masking, and the rules and severities that fired.
fn masked(text: &str) -> (String, Vec<(&'static str, Severity)>) {
    let scan = SecretScanner::new().scan(text);
    let fired = scan.findings.iter().map(|finding| (finding.rule.id, finding.severity)).collect();
    (scan.edits.apply(text), fired)
}

#[track_caller]
fn check(text: &str, expected: &str, fired: &[(&str, Severity)]) {
    assert_eq!(masked(text), (expected.to_owned(), fired.to_vec()), "{text}");
    let again = SecretScanner::new().scan(expected);
    assert!(again.edits.is_empty(), "masked twice: {expected} becomes {}", again.edits.apply(expected));
}

use Severity::{Critical, High, Low, Medium};

/// Thirty characters, and the checksum that GitHub and npm would add. Never whole in this file, so that it is no find
/// for other people's scanners.
const RANDOM: &str = "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ";
const SUM: &str = "0mLq17";
/// Forty and more characters without structure.
const NOISE: &str = "k7Qz2mX9vB4tR8wY1pL6sD3fG5hJ0aCeUiOxNbVqWzEr";
const HEX: &str = "3f9a1c07be52d8463f0e9b7a6c5d41280fa3c7e9b1d2468a9c0e7f5b3d1a2684";

#[test]
fn masks_tokens_by_prefix() {
    let table: &[(&str, &str, &str, Severity)] = &[
        ("ghp_", &format!("{RANDOM}{SUM}"), "github_pat", Critical),
        ("gho_", &format!("{RANDOM}{SUM}"), "github_oauth", Critical),
        ("ghu_", &format!("{RANDOM}{SUM}"), "github_user_token", Critical),
        ("ghr_", &format!("{RANDOM}{SUM}"), "github_refresh_token", Critical),
        ("ghs_", &format!("{RANDOM}{SUM}"), "github_server_token", Critical),
        ("ghp_", &format!("{RANDOM}0mLq18"), "github_pat", High),
        ("npm_", &format!("{RANDOM}{SUM}"), "npm_token", Critical),
        ("npm_", &format!("{RANDOM}0mLq18"), "npm_token", High),
        ("glpat-", &NOISE[..20], "gitlab_pat", Critical),
        ("glrt-", &NOISE[..20], "gitlab_token", Critical),
        ("xoxb-", &format!("2847561930-{}", &NOISE[..24]), "slack_token", Critical),
        ("AKIA", "Q3EGV7JZX2LWN5TB", "aws_access_key", Critical),
        ("ASIA", "Q3EGV7JZX2LWN5TB", "aws_access_key", Critical),
        ("AKIA", "IOSFODNN7EXAMPLE", "aws_access_key", Low),
        ("AIza", &NOISE[..35], "google_api_key", Critical),
        ("sk_live_", &NOISE[..24], "stripe_live", Critical),
        ("rk_live_", &NOISE[..24], "stripe_live", Critical),
        ("sk_test_", &NOISE[..24], "stripe_test", High),
        ("pk_test_", &NOISE[..10], "stripe_test", Low),
        ("sk-", &NOISE[..40], "openai_key", Critical),
        ("sk-proj-", &NOISE[..40], "openai_proj", Critical),
        ("sk-ant-", &format!("api03-{}", &NOISE[..40]), "anthropic_key", Critical),
        ("pypi-", &format!("AgE{NOISE}{NOISE}"), "pypi_token", Critical),
        ("hf_", &NOISE[..34], "hf_token", Critical),
        ("SK", &HEX[..32], "twilio_key", High),
        ("SG.", &format!("{}.{}", &NOISE[..22], &NOISE[..43]), "sendgrid_key", Critical),
        ("dop_v1_", HEX, "digitalocean_token", Critical),
        ("pplx-", &HEX[..48], "perplexity_key", Critical),
        ("dapi", &HEX[..32], "databricks_token", Critical),
        ("hvs.", &NOISE[..24], "vault_token", Critical),
    ];
    for (prefix, body, rule, severity) in table {
        let last = if body.len() < 16 { "" } else { &body[body.len() - 4..] };
        let mask = format!("{prefix}...{last}");
        check(&format!("use {prefix}{body} here"), &format!("use {mask} here"), &[(rule, *severity)]);
        check(&format!("(\"{prefix}{body}\")"), &format!("(\"{mask}\")"), &[(rule, *severity)]);
    }
}

#[test]
fn masks_what_is_known_by_its_structure() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UifQ.k7Qz2mX9vB4tR8wY1pL6sD3fG5hJ0aCe";
    check(&format!("cookie {jwt}; x"), "cookie eyJ...0aCe; x", &[("jwt", High)]);
    check(&format!("R03 ghs_12345_{jwt}."), "R03 ghs_...0aCe.", &[("github_server_token", Critical)]);
    check("R48 ghs_12345_eyJabc.def.ghi0123456", "R48 ghs_...3456", &[("github_server_token", High)]);
    check(&format!("bot12345678:{}", &NOISE[..35]), "botREDACTED", &[("telegram_token", High)]);
    let hook = format!("https://hooks.slack.com/services/T0AB12CD3/B0EF45GH6/{}", &NOISE[..24]);
    check(&hook, "https://hooks.slack.com/services/REDACTED", &[("slack_webhook", High)]);
    let sas = "https://x.blob.core.windows.net/c/b?sv=2022-11-02&se=2030-01-01&sr=b&sig=Zk7Qz2mX9vB4tR8wY1pL6sD3fG5hJ0aCeUiOxNbVqWz%3D&sp=r";
    check(
        sas,
        "https://x.blob.core.windows.net/c/b?sv=2022-11-02&se=2030-01-01&sr=b&sig=REDACTED&sp=r",
        &[("azure_sas", High)],
    );
    let account = format!("AccountName=acct;AccountKey={NOISE}{}==;EndpointSuffix=x", &NOISE[..42]);
    check(&account, "AccountName=acct;AccountKey=REDACTED;EndpointSuffix=x", &[("azure_key", Critical)]);
    let pair = format!("AKIAQ3EGV7JZX2LWN5TB,{}", &NOISE[..40]);
    check(&pair, "AKIA...N5TB,REDACTED", &[("aws_access_key", Critical), ("aws_secret_key", Critical)]);
    check(
        &format!("AWS_SECRET_ACCESS_KEY={}", &NOISE[..40]),
        "AWS_SECRET_ACCESS_KEY=REDACTED",
        &[("aws_secret_key", Critical)],
    );
    check(&format!("R23 AIza{}", &NOISE[..36]), "R23 AIza...eUiOx", &[("google_api_key", Medium)]);
}

#[test]
fn masks_private_keys_whole_cut_and_escaped() {
    let line = format!("{NOISE}{}", &NOISE[..20]);
    let key = |label: &str| format!("-----BEGIN {label}-----\n{line}\n{line}\nAbC=\n-----END {label}-----");
    for label in
        ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "DSA PRIVATE KEY"]
    {
        check(&format!("a\n{}\nb", key(label)), "a\n[REDACTED PRIVATE KEY]\nb", &[("private_key", Critical)]);
    }
    let pgp = key("PGP PRIVATE KEY BLOCK");
    check(&pgp, "[REDACTED PRIVATE KEY]", &[("private_key", Critical)]);
    check(&key("ENCRYPTED PRIVATE KEY"), "[REDACTED PRIVATE KEY]", &[("private_key", High)]);
    let headers = format!(
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,00\n\n{line}\n-----END RSA PRIVATE KEY-----"
    );
    check(&headers, "[REDACTED PRIVATE KEY]", &[("private_key", High)]);
    let cut = format!("log: -----BEGIN PRIVATE KEY-----\n{line}\n{line}\n[output cut]");
    check(&cut, "log: REDACTED PRIVATE KEY\n[output cut]", &[("private_key", Critical)]);
    let escaped = key("PRIVATE KEY").replace('\n', "\\n");
    check(&format!("x = '{escaped}\\n'"), "x = '[REDACTED PRIVATE KEY]\\n'", &[("private_key", Critical)]);
    check(
        &format!("{{\"private_key\": \"{escaped}\\n\", \"n\": 1.50}}"),
        "{\"private_key\": \"[REDACTED PRIVATE KEY]\\n\", \"n\": 1.50}",
        &[("private_key", Critical)],
    );
    let encoded = "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUV2UUlCQURBTkJna3Foa2lHOXcwQkFRRUZBQVND";
    check(&format!("client-key-data: {encoded}"), "client-key-data: REDACTED", &[("private_key", Critical)]);
}

/// Masked in every case; how bad it is depends on what the key is for.
#[test]
fn a_private_key_is_as_bad_as_its_surroundings_make_it() {
    let line = format!("{NOISE}{}", &NOISE[..20]);
    let key = format!("-----BEGIN PRIVATE KEY-----\n{line}\n{line}\n-----END PRIVATE KEY-----\n");
    let openssh = |cipher: &str| {
        format!(
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA{cipher}{line}\n{line}\n-----END OPENSSH PRIVATE KEY-----\n"
        )
    };
    let published = "MIIEogIBAAKCAQEA6NF8iallvQVp22WDkTkyrtvp9eWW6A8YVr+kz4TjGYe7gHzI";
    let escaped = key.replace('\n', "\\n");
    let table = [
        ("alone", key.clone(), Critical),
        (
            "beside its certificate",
            format!("-----BEGIN CERTIFICATE-----\n{HEX}\n-----END CERTIFICATE-----\n{key}"),
            Critical,
        ),
        ("printed by a tool", format!("$ cat id\n{key}$ "), Critical),
        ("in an environment file", format!("KEY=\"{escaped}\"\n"), Critical),
        ("OpenSSH without encryption", openssh("BG5vbmU"), Critical),
        ("OpenSSH with encryption", openssh("CmFlczI1Ni1j"), High),
        (
            "in source code",
            format!("use std::fs;\nconst KEY: &str = \"{escaped}\";\nfn f() {{ return g(KEY); }}\n"),
            High,
        ),
        ("in an example", format!("An example of a key:\n{key}"), High),
        ("one of many", format!("{key}{key}"), High),
        ("one that everyone has", key.replacen(&line, published, 1), Low),
    ];
    for (name, text, severity) in table {
        let (clean, fired) = masked(&text);
        assert!(
            fired.iter().all(|fired| *fired == ("private_key", severity)) && !fired.is_empty(),
            "{name}: {fired:?}"
        );
        assert!(!clean.contains(&NOISE[..30]), "{name}: {clean}");
    }
}

#[test]
fn masks_passwords_in_urls_one_by_one() {
    let db = "db_connection_password";
    let table = [
        (
            "R07 postgres://admin:hunter2secret@db:5432/app",
            "R07 postgres://admin:REDACTED@db:5432/app",
            vec![(db, High)],
        ),
        (
            "R15 postgresql://admin:hunter2secret@db/app",
            "R15 postgresql://admin:REDACTED@db/app",
            vec![(db, High)],
        ),
        ("R13 postgres://user:abc@host:5432/db", "R13 postgres://user:abc@host:5432/db", vec![]),
        (
            "R31 mysql://root:toor@db/x and redis://u:pass1234@r/0",
            "R31 mysql://root:REDACTED@db/x and redis://u:REDACTED@r/0",
            vec![(db, High), (db, High)],
        ),
        (
            "mongodb+srv://u:p%40ssw0rd@c.mongo.net/x",
            "mongodb+srv://u:REDACTED@c.mongo.net/x",
            vec![(db, High)],
        ),
        ("redis://:s3cretpw@cache:6379", "redis://:REDACTED@cache:6379", vec![(db, High)]),
        ("amqp://u:a@b@c:q9@mq/v", "amqp://u:REDACTED@mq/v", vec![(db, High)]),
        ("postgres://u:pa/ss1@h/db", "postgres://u:REDACTED@h/db", vec![(db, High)]),
        ("postgres://user:password@localhost/db", "postgres://user:REDACTED@localhost/db", vec![(db, Low)]),
        (
            "git clone https://bob:x9f-Kd02mmq@git.internal/r",
            "git clone https://bob:REDACTED@git.internal/r",
            vec![("url_password", High)],
        ),
        ("postgres://u:${DB_PASS}@h/db", "postgres://u:${DB_PASS}@h/db", vec![]),
        ("https://host:8080/a@b and https://h/x:y@z", "https://host:8080/a@b and https://h/x:y@z", vec![]),
    ];
    for (text, expected, fired) in table {
        check(text, expected, &fired);
    }
}

#[test]
fn masks_values_by_the_name_they_stand_under() {
    let (env, json) = ("env_assignment", "json_field");
    let table = [
        ("My_Secret_Key=FAKE0000test_value", "My_Secret_Key=REDACTED", vec![(env, Medium)]),
        ("export my_token=s3cr3t_value_here", "export my_token=REDACTED", vec![(env, Medium)]),
        ("x ; My_Secret_Key=FAKE0000test_value ; y", "x ; My_Secret_Key=REDACTED ; y", vec![(env, Medium)]),
        ("export API_KEY=superSecretValue123", "export API_KEY=REDACTED", vec![(env, Medium)]),
        ("KEY=12345678\nKEY=87654321", "KEY=REDACTED\nKEY=REDACTED", vec![(env, Low), (env, Low)]),
        (
            r#"{"api_key": "super-secret-key-value-12345678"}"#,
            r#"{"api_key": "REDACTED"}"#,
            vec![(json, Medium)],
        ),
        (
            r#"{"database_password": "my-super-secret-pass-1234"}"#,
            r#"{"database_password": "REDACTED"}"#,
            vec![(json, Medium)],
        ),
        ("{'api_key': 'not-a-prefix-match-value'}", "{'api_key': 'REDACTED'}", vec![(json, Medium)]),
        ("{'token': 'not-a-prefix-match-value'}", "{'token': 'REDACTED'}", vec![(json, Medium)]),
        (
            "see {\"password\": \"a\\\"b1c2d3e4\"} there",
            "see {\"password\": \"REDACTED\"} there",
            vec![(json, Medium)],
        ),
        // Letters of several bytes are never cut.
        (
            r#"{"password": "пароль-секрет-42ж"}, ende"#,
            r#"{"password": "REDACTED"}, ende"#,
            vec![(json, Medium)],
        ),
        ("DB_PASSWORD=秘密の合言葉1234 後", "DB_PASSWORD=REDACTED 後", vec![(env, Medium)]),
        ("password: hunter2secret\nname: x", "password: REDACTED\nname: x", vec![(env, Medium)]),
        ("password: |\n  hunter2secret\nname: x", "password: |\n  REDACTED\nname: x", vec![(env, Medium)]),
        ("apiToken = \"k7Qz2mX9vB4tR8wY1pL6\"", "apiToken = \"REDACTED\"", vec![(env, High)]),
        (
            "let secret: &str = \"k7Qz2mX9vB4tR8wY1pL6\";",
            "let secret: &str = \"REDACTED\";",
            vec![(env, High)],
        ),
        (
            "os.environ[\"API_KEY\"] = 'k7Qz2mX9vB4tR8wY1pL6'",
            "os.environ[\"API_KEY\"] = 'REDACTED'",
            vec![(json, High)],
        ),
        (
            "https://h/p?a=1&access_token=k7Qz2mX9vB4tR8wY1pL6&b=2",
            "https://h/p?a=1&access_token=REDACTED&b=2",
            vec![(env, High)],
        ),
        ("run --api-key k7Qz2mX9vB4tR8wY1pL6 now", "run --api-key REDACTED now", vec![(env, High)]),
        ("X-Api-Key: k7Qz2mX9vB4tR8wY1pL6", "X-Api-Key: REDACTED", vec![("auth_header", High)]),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic REDACTED", vec![("auth_header", High)]),
        (
            "-H 'Authorization: Bearer k7Qz2mX9vB4tR8wY1pL6'",
            "-H 'Authorization: Bearer REDACTED'",
            vec![("auth_header", High)],
        ),
        (
            "-H 'Authorization: Token k7Qz2mX9vB4tR8wY1pL6'",
            "-H 'Authorization: Token REDACTED'",
            vec![("auth_header", High)],
        ),
        (
            "machine h login bob password q8w7e6r5\n",
            "machine h login bob password REDACTED\n",
            vec![("netrc_password", High)],
        ),
        (
            r#"{"auths": {"r.example.com": {"auth": "Ym9iOmh1bnRlcjI="}}}"#,
            r#"{"auths": {"r.example.com": {"auth": "REDACTED"}}}"#,
            vec![("docker_auth", High)],
        ),
        (
            "client_secret: 2f1c9a4e-7b3d-4e8f-9a6b-5c0d1e2f3a4b",
            "client_secret: REDACTED",
            vec![(env, Medium)],
        ),
        (
            "{\"pass\\u0077ord\": \"q8w7\\u0065r5t\"}",
            "{\"pass\\u0077ord\": \"REDACTED\"}",
            vec![(json, Medium)],
        ),
    ];
    for (text, expected, fired) in table {
        check(text, expected, &fired);
    }
}

#[test]
fn leaves_alone_what_is_no_secret() {
    let clean = [
        "No secrets here.",
        "curl -H 'Bearer short' https://api.example.com",
        "AKIAIOSFODNN7EXAMPL",
        r#""author": "Jane Doe <jane@x>""#,
        r#"{"author": "Jane Doe", "authority": "https://a.b/c9", "keyboard": "qwerty-de-latin1-x", "monkey": "abc123def456"}"#,
        r#"{"tokens": "input_tokens", "max_tokens": 4096, "tokenizer": "cl100k_base_v2x"}"#,
        "TOKEN=$GITHUB_TOKEN",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "api_key = \"<your-token>\"",
        "API_KEY=your-api-key-here1",
        "password=xxxxxxxxxxxx",
        "password: changeme123",
        "token = get_token()",
        "token = self.token2.value",
        "password: string",
        "password: Option<String256>,",
        "let token = Token::from_str2(input);",
        "f(token=my_token_1, key=key2222222)",
        "key = \"2f1c9a4e-7b3d-4e8f-9a6b-5c0d1e2f3a4b\"",
        "\"integrity\": \"sha512-k7Qz2mX9vB4tR8wY1pL6sD3fG5hJ0aCeUiOxNbVqWzEr==\"",
        "commit 3f9a1c07be52d8463f0e9b7a6c5d41280fa3c7e9",
        "secret_name: projects/a1/secrets/b2",
        "token_url: https://a.example/oauth2/token",
        "SSL_KEY_FILE=/etc/ssl/private/server1.key",
        "password: /run/secrets/db_password1",
        "The password is a word that nobody knows, and a token is a thing.",
        "key: the quick brown fox jumps over 13 lazy dogs",
        "task-runner-with-a-very-long-name1",
        "-----BEGIN PRIVATE KEY----- is the header that you look for",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
        "Authorization: Bearer ${TOKEN}",
        "Authorization: Bearer <token>",
        "12:34:56 and 2024-01-01T12:34:56",
        "if password == 'k7Qz2mX9vB4tR8wY1pL6' {",
    ];
    for text in clean {
        check(text, text, &[]);
    }
}

#[test]
fn a_document_keeps_everything_but_the_secret() {
    let text = "{ \"a\" : 1.50 ,\n\t\"list\":[true,null,-0,\"\\u00e9 ok\"], \"password\":\"q8w7\\\"e6r5\" , \"é\":{} }\n{\"token\": [\"q8w7e6r5\"]}\n";
    let expected = "{ \"a\" : 1.50 ,\n\t\"list\":[true,null,-0,\"\\u00e9 ok\"], \"password\":\"REDACTED\" , \"é\":{} }\n{\"token\": [\"REDACTED\"]}\n";
    assert_eq!(masked(text).0, expected);
}

#[test]
fn a_secret_in_a_key_is_reported_and_stays() {
    let text = format!("{{\"AKIAQ3EGV7JZX2LWN5TB\": \"x\", \"{}\": 1}}", "plain");
    assert_eq!(masked(&text), (text.clone(), vec![("aws_access_key", Critical)]));
}

/// The backslash made the text no JSON; with the value around it gone, it is JSON, and an escape hides a name in it.
#[test]
fn what_masking_uncovers_is_masked_as_well() {
    let text = r#"{"api_key": "super-secret\-12345678", "n": ["pass\u0077ord=q8w7e6r5"]}"#;
    let once = masked(text).0;
    assert_eq!(once, r#"{"api_key": "REDACTED", "n": ["pass\u0077ord=REDACTED"]}"#);
    assert_eq!(masked(&once).0, once);
}

#[test]
fn a_name_known_from_elsewhere_decides_as_well() {
    let scan = SecretScanner::new().scan_field("password", "my-super-secret-pass-1234");
    assert_eq!(scan.edits.apply("my-super-secret-pass-1234"), "REDACTED");
    assert!(SecretScanner::new().scan_field("author", "my-super-secret-pass-1234").findings.is_empty());
}

/// Text that is made of what the scanner looks for.
fn telling() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        3 => "[a-zA-Z0-9_+/=-]{1,45}",
        1 => "[ -~]{0,6}",
        1 => "\\PC{0,4}",
        4 => prop::sample::select(vec![
            "key", "token", "password", "\"secret\"", "Authorization", "Bearer ", "Basic ", "=", ": ", " = ", "\"", "'", "\\", "\\n", "\n",
            "ghp_", "ghs_1_", "sk-", "AKIA", "AIza", "xoxb-", "eyJhbGciOiJIUzI1NiJ9.", ".", "://", "postgres://u:", "@", "/", "{", "}",
            "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "sig=", "sv=2022", "&", ",", ";", "...", "REDACTED", "12345678:",
            "login x password ", "|\n  ", "--token ", "api_key", "export ", "LS0tLS1CRUdJTi",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(word, 0..14).prop_map(|words| words.concat())
}

fn shape(value: &serde_json::Value) -> serde_json::Value {
    let mut value = value.clone();
    fullsend_guard::leaves::map_strings(&mut value, |visit| match visit {
        fullsend_guard::leaves::Visit::Key(_) => None,
        fullsend_guard::leaves::Visit::Value { .. } => Some(String::new()),
    });
    value
}

fn document() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
        telling().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
            prop::collection::vec((telling(), inner), 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn cleaning_twice_is_cleaning_once(text in telling()) {
        let once = masked(&text).0;
        prop_assert_eq!(masked(&once).0, once);
    }

    #[test]
    fn a_document_keeps_its_shape(value in document(), pretty in any::<bool>()) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        if text.starts_with(['{', '[', '"']) {
            let cleaned: serde_json::Value = serde_json::from_str(&masked(&text).0).expect("still JSON");
            prop_assert_eq!(shape(&cleaned), shape(&value));
        }
    }
}
