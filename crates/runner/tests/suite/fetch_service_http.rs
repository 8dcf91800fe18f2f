//! The service as it is heard over a socket.

use fullsend_runner::{ClientFault, FetchService, request_skill};

use super::fetch_place::{FetchPlace, SKILL, request, run, send, token};

const PLAIN: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

#[test]
fn every_request_has_its_answer() {
    let place = FetchPlace::new();
    let url = place.skill("review", &[("SKILL.md", SKILL)]);
    run(async {
        let service = FetchService::start(place.fetcher()).await.unwrap();
        let (address, token) = (service.address(), token(&service));
        assert!(address.ip().is_loopback());
        let auth = format!("Authorization: Bearer {token}\r\n");
        let head =
            |line: &str, headers: &str| format!("{line} HTTP/1.1\r\nHost: x\r\n{headers}\r\n").into_bytes();
        let large = "x".repeat((1 << 20) + 1);
        let limit = format!("{{\"url\":\"{}\"}}", "x".repeat((1 << 20) - 10));
        let rows: Vec<(Vec<u8>, u16, &str, String)> = vec![
            (head("GET /healthz", ""), 200, "", String::new()),
            (head("DELETE /healthz", ""), 200, "", String::new()),
            (head("GET /", ""), 404, PLAIN, "404 page not found\n".to_owned()),
            (head("POST /fetch/", &auth), 404, PLAIN, "404 page not found\n".to_owned()),
            (head("GET /tools.json", &auth), 404, PLAIN, "404 page not found\n".to_owned()),
            (head("POST /fetch", ""), 401, PLAIN, "unauthorized\n".to_owned()),
            (head("GET /fetch", ""), 401, PLAIN, "unauthorized\n".to_owned()),
            (head("POST /fetch", &auth.replace("Bearer", "bearer")), 401, PLAIN, "unauthorized\n".to_owned()),
            (head("POST /fetch", &auth.replace("Bearer", "Basic")), 401, PLAIN, "unauthorized\n".to_owned()),
            (head("GET /fetch", &auth), 405, PLAIN, "method not allowed\n".to_owned()),
            (head("PUT /fetch?x=1", &auth), 405, PLAIN, "method not allowed\n".to_owned()),
            (request(&token, &large), 413, JSON, "{\"error\":\"request body too large\"}\n".to_owned()),
            (request(&token, ""), 400, JSON, "{\"error\":\"invalid request body\"}\n".to_owned()),
            (request(&token, "[]"), 400, JSON, "{\"error\":\"invalid request body\"}\n".to_owned()),
            (request(&token, "{}"), 400, JSON, "{\"error\":\"url is required\"}\n".to_owned()),
            (request(&token, "null"), 400, JSON, "{\"error\":\"url is required\"}\n".to_owned()),
            (request(&token, &limit), 400, JSON, "{\"error\":\"url must be a valid HTTPS URL\"}\n".to_owned()),
            (
                request(&token, &format!("{{\"url\":\"https://x.example/?a&b#sha256={}\"}}", "0".repeat(64))),
                403,
                JSON,
                "{\"error\":\"url \\\"https://x.example/?a\\u0026b\\\" is not in allowed_remote_resources\"}\n"
                    .to_owned(),
            ),
        ];
        for (bytes, status, kind, body) in rows {
            let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(90)]).into_owned();
            let reply = tokio::task::spawn_blocking(move || send(address, &bytes)).await.unwrap();
            assert_eq!((reply.status, reply.kind.as_str(), reply.body), (status, kind, body), "{shown}");
        }
        let body = format!("{{\"url\":\"{url}\"}}");
        let reply =
            tokio::task::spawn_blocking(move || send(address, &request(&token, &body))).await.unwrap();
        assert_eq!((reply.status, reply.kind.as_str()), (200, JSON), "{reply:?}");
        assert!(reply.body.starts_with("{\"local_path\":\"/sandbox/claude-config/skills/"), "{}", reply.body);
        assert!(reply.body.ends_with("-review\"}\n"), "{}", reply.body);
        service.stop().await;
        assert!(std::net::TcpStream::connect(address).is_err(), "it still listens");
    });
}

#[test]
fn each_run_has_its_own_token_and_it_is_in_no_debug_output() {
    let place = FetchPlace::new();
    run(async {
        let one = FetchService::start(place.fetcher()).await.unwrap();
        let two = FetchService::start(place.fetcher()).await.unwrap();
        assert_ne!(token(&one), token(&two));
        assert!(!format!("{one:?}").contains(&token(&one)));
        let lines = one.env_lines();
        let expected = format!(
            "export FULLSEND_FETCH_URL=\"$FULLSEND_ENDPOINT_FETCH/fetch\"\nexport FULLSEND_FETCH_TOKEN='{}'\n",
            token(&one)
        );
        assert_eq!(lines, expected);
        let endpoint = one.endpoint();
        assert_eq!(
            (endpoint.name.as_str(), endpoint.upstream),
            ("fetch", format!("http://{}", one.address()))
        );
        fullsend_sandbox::egress::check_endpoint(&one.endpoint()).unwrap();
        let (address, other) = (one.address(), token(&two));
        let reply = tokio::task::spawn_blocking(move || send(address, &request(&other, "{}"))).await.unwrap();
        assert_eq!(reply.status, 401);
    });
}

#[test]
fn idle_connections_do_not_keep_others_out() {
    let place = FetchPlace::new();
    run(async {
        let service = FetchService::start(place.fetcher()).await.unwrap();
        let (address, token) = (service.address(), token(&service));
        let idle: Vec<_> = (0..20).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
        let reply = tokio::task::spawn_blocking(move || send(address, &request(&token, "{}"))).await.unwrap();
        assert_eq!(reply.status, 400);
        drop(idle);
    });
}

#[test]
fn the_client_says_what_went_wrong() {
    let place = FetchPlace::new();
    let url = place.skill("review", &[("SKILL.md", SKILL)]);
    run(async {
        let service = FetchService::start(place.fetcher()).await.unwrap();
        let (address, token) = (format!("http://{}/fetch", service.address()), token(&service));
        let path = request_skill(&address, &token, &url).await.unwrap();
        assert!(path.ends_with("-review"), "{path}");
        let refused = request_skill(&address, &token, "nonsense").await.unwrap_err();
        assert_eq!(refused.to_string(), "url must be a valid HTTPS URL");
        let unauthorised = request_skill(&address, "wrong", &url).await.unwrap_err();
        assert!(
            unauthorised.to_string().starts_with("failed to decode response (HTTP 401): "),
            "{unauthorised}"
        );
        for bad in
            ["", "127.0.0.1", "https://127.0.0.1/fetch", "http://u@127.0.0.1/fetch", "http://", "ftp://x/"]
        {
            let fault = request_skill(bad, &token, &url).await.unwrap_err();
            assert!(matches!(fault, ClientFault::Request(_)), "{bad}: {fault}");
        }
        assert!(matches!(request_skill(&address, "a\nb", &url).await, Err(ClientFault::Request(_))));
        let gone = service.address();
        service.stop().await;
        let fault = request_skill(&format!("http://{gone}/fetch"), &token, &url).await.unwrap_err();
        assert!(fault.to_string().starts_with("fetch request failed: "), "{fault}");
    });
}
