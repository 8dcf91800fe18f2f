//! Which fields of a tool's input are requests, and which are data.

use fullsend_guard::url::{Allowed, check_request, requests_in};
use serde_json::{Value, json};

fn targets(input: &Value) -> Vec<(String, String)> {
    requests_in(input).into_iter().map(|found| (found.path, found.target.to_owned())).collect()
}

#[test]
fn keys_that_name_a_place_make_a_request() {
    let table = [
        (json!({"url": "http://169.254.169.254/"}), vec![("url", "http://169.254.169.254/")]),
        (json!({"url": "github.com/a"}), vec![("url", "github.com/a")]),
        (json!({"url": "javascript:alert(1)"}), vec![("url", "javascript:alert(1)")]),
        (json!({"URL": "localhost"}), vec![("URL", "localhost")]),
        (
            json!({"baseUrl": "x", "base_url": "y", "base-url": "z"}),
            vec![("baseUrl", "x"), ("base_url", "y"), ("base-url", "z")],
        ),
        (
            json!({"imageURL": "a.example", "proxyurl": "b"}),
            vec![("imageURL", "a.example"), ("proxyurl", "b")],
        ),
        (
            json!({"urls": ["http://a", {"href": "http://b"}, ["http://c"]]}),
            vec![("urls[0]", "http://a"), ("urls[1].href", "http://b"), ("urls[2][0]", "http://c")],
        ),
        (json!({"request": {"endpoint": "10.0.0.1:80"}}), vec![("request.endpoint", "10.0.0.1:80")]),
        (json!({"webhook_url": "http://10.0.0.1"}), vec![("webhook_url", "http://10.0.0.1")]),
        (json!({"host": "localhost"}), vec![("host", "localhost")]),
        (json!({"host": "2130706433"}), vec![("host", "2130706433")]),
        (json!({"hostname": "::1"}), vec![("hostname", "::1")]),
        (json!({"target": "10.0.0.1"}), vec![("target", "10.0.0.1")]),
        (json!({"address": "10.0.0.1:22"}), vec![("address", "10.0.0.1:22")]),
        (json!({"address": "redis:6379"}), vec![("address", "redis:6379")]),
        (json!({"source": "http:127.0.0.1"}), vec![("source", "http:127.0.0.1")]),
        (json!({"repo": "root@10.0.0.5:/srv/x.git"}), vec![("repo", "root@10.0.0.5:/srv/x.git")]),
        (json!({"src": "//evil.example/x.js"}), vec![("src", "//evil.example/x.js")]),
        (json!({"host": "127\u{ff0e}0\u{ff0e}0\u{ff0e}1"}), vec![("host", "127\u{ff0e}0\u{ff0e}0\u{ff0e}1")]),
        (
            json!({"target": "127\u{3002}0\u{3002}0\u{3002}1/x"}),
            vec![("target", "127\u{3002}0\u{3002}0\u{3002}1/x")],
        ),
        (json!({"target": "127%2e0.0.1"}), vec![("target", "127%2e0.0.1")]),
        (json!({"source": "http://10.0.0.1/ x"}), vec![("source", "http://10.0.0.1/ x")]),
        (json!({"source": "http://10.0.\n0.1/"}), vec![("source", "http://10.0.\n0.1/")]),
        (json!({"src": "file:///etc/passwd"}), vec![("src", "file:///etc/passwd")]),
        (json!({"content": {"url": "http://10.0.0.1"}}), vec![("content.url", "http://10.0.0.1")]),
        (json!([{"uri": "http://a"}]), vec![("[0].uri", "http://a")]),
    ];
    for (input, expected) in table {
        let expected: Vec<_> =
            expected.into_iter().map(|(path, target)| (path.to_owned(), target.to_owned())).collect();
        assert_eq!(targets(&input), expected, "{input}");
    }
}

#[test]
fn text_and_paths_are_data() {
    for input in [
        json!("http://10.0.0.1/"),
        json!(["http://10.0.0.1/"]),
        json!({"file_path": "http://10.0.0.1/"}),
        json!({"command": "curl http://10.0.0.1/", "description": "http://10.0.0.1/"}),
        json!({"prompt": "http://10.0.0.1/", "content": "http://10.0.0.1/", "file_text": "http://10.0.0.1/"}),
        json!({"old_string": "http://10.0.0.1/", "new_string": "http://10.0.0.1/", "pattern": "http://10.0.0.1/"}),
        json!({"text": "http://10.0.0.1/", "message": "http://10.0.0.1/", "body": "http://10.0.0.1/", "query": "http://10.0.0.1/"}),
        json!({"content": ["http://10.0.0.1/"]}),
        json!({"curl": "http://10.0.0.1/", "urlencoded": "http://10.0.0.1/", "curly": "http://10.0.0.1/"}),
        json!({"url": "/relative", "href": "#top", "uri": "./x", "link": "../y"}),
        json!({"url": "", "urls": [], "uri": null, "href": 5, "endpoint": true}),
        json!({"target": "release", "address": "me@corp.local", "source": "local file", "origin": "main"}),
        json!({"target": "10.2", "source": "1", "src": "metadata", "page": "12"}),
        json!({"host": "see http://10.0.0.1/ for more", "page": "http://localhost is down"}),
        json!({"image": "redis:7", "images": ["nginx:1.25"], "source": "note: see below", "server": "{name}"}),
    ] {
        assert_eq!(targets(&input), [], "{input}");
    }
}

#[test]
fn a_fetch_tool_under_any_name_cannot_reach_metadata() {
    let input =
        json!({"options": {"sources": ["https://example.com/"]}, "url": "http://169.254.169.254/latest"});
    let refused: Vec<_> = requests_in(&input)
        .into_iter()
        .filter_map(|found| {
            check_request(found.target, &Allowed::nothing_more()).map(|finding| (found.path, finding.rule.id))
        })
        .collect();
    assert_eq!(refused, [("url".to_owned(), "blocked_hostname")]);
}

#[test]
fn deep_input_is_walked_without_recursion() {
    let mut input = json!({"url": "http://10.0.0.1/"});
    for _ in 0..100 {
        input = json!([{ "x": input }]);
    }
    assert_eq!(targets(&input).len(), 1);
}
