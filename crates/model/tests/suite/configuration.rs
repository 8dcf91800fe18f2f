//! What is refused before anything is sent.

use fullsend_model::gateway::{ApiKey, Auth, Gateway, GatewayConfig, GatewayError};

fn endpoint(base: &str) -> Result<String, String> {
    Gateway::new(GatewayConfig::new(base, Auth::None))
        .map(|gateway| gateway.endpoint().to_owned())
        .map_err(|error| error.to_string())
}

#[test]
fn the_path_of_the_base_is_kept() {
    let cases = [
        ("http://h:8080", "http://h:8080/v1/chat/completions"),
        ("http://h:8080/", "http://h:8080/v1/chat/completions"),
        (" http://h:8080/api/ ", "http://h:8080/api/v1/chat/completions"),
        ("http://h:8080/api/v1", "http://h:8080/api/v1/chat/completions"),
        ("http://h:8080/api/v1/", "http://h:8080/api/v1/chat/completions"),
        ("http://h/xv1", "http://h/xv1/v1/chat/completions"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
        ("http://[::1]/v1", "http://[::1]/v1/chat/completions"),
        ("HTTP://h", "http://h/v1/chat/completions"),
        ("https://h.example/openai/chat/completions", "https://h.example/openai/chat/completions"),
        ("http://127.0.0.1:8399/s/n=3,run=x", "http://127.0.0.1:8399/s/n=3,run=x/v1/chat/completions"),
    ];
    for (base, expected) in cases {
        assert_eq!(endpoint(base).as_deref(), Ok(expected), "{base}");
    }
}

#[test]
fn wrong_bases_are_refused_without_showing_secrets() {
    let cases = [
        ("", "absolute URL"),
        ("h:8080", ""),
        ("/v1", "absolute URL"),
        ("ftp://h/", "unknown scheme"),
        ("http://", ""),
        ("http://:80/", ""),
        ("http://user:s3cret@h/", "user name or password"),
        ("http://h/?key=s3cret", "query"),
        ("http://h/#s3cret", "fragment"),
        ("http://h:99999/", ""),
        ("http://h:/", "port"),
        ("http://h h/", "absolute URL"),
        ("http://h/\n", ""),
    ];
    for (base, expected) in cases {
        match endpoint(base) {
            Ok(found) => assert_eq!((base, found.as_str()), ("http://h/\n", "http://h/v1/chat/completions")),
            Err(message) => {
                assert!(message.contains("base URL") && message.contains(expected), "{base}: {message}");
                assert!(!message.contains("s3cret"), "{base}: {message}");
            }
        }
    }
}

#[test]
fn keys_are_checked_before_any_traffic() {
    let build = |key: &str| {
        let auth = Auth::Bearer { key: ApiKey::new(key), source: "MY_GATEWAY_KEY".to_owned() };
        Gateway::new(GatewayConfig::new("http://127.0.0.1:1", auth)).unwrap_err()
    };
    assert!(matches!(build(""), GatewayError::KeyMissing { .. }));
    assert!(matches!(build(" \n"), GatewayError::KeyMissing { .. }));
    assert!(matches!(build(" ... "), GatewayError::KeyPlaceholder { .. }));
    assert!(matches!(build("a b"), GatewayError::KeyCharacters { .. }));
    assert!(matches!(build("a\r\nX-Evil: 1"), GatewayError::KeyCharacters { .. }));
    assert!(matches!(build("schlüssel"), GatewayError::KeyCharacters { .. }));
    for key in ["", "...", "a b"] {
        assert!(build(key).to_string().contains("MY_GATEWAY_KEY"), "{key}");
    }
    let mut config = GatewayConfig::new("http://h", Auth::None);
    config.user_agent = "a\nb".to_owned();
    assert!(matches!(Gateway::new(config), Err(GatewayError::UserAgent)));
}
