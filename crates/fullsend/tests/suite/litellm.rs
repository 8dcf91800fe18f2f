//! `fullsend exec` through the real LiteLLM proxy, which answers by itself or passes on to a scripted gateway.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use fullsend_testkit::gateway::{ScriptedGateway, ShellTurns};
use fullsend_testkit::{declare_skip, test_name};
use serde_json::{Value, json};

use crate::suite::running::{Place, Ran};

/// Where the repository's test runner installs it.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools/python/litellm/bin/litellm");
const KEY: &str = "sk-only-for-this-test";
/// It imports for many seconds on a busy machine.
const START: Duration = Duration::from_secs(240);

/// A running proxy; it ends when it is dropped.
struct Proxy {
    process: Child,
    port: u16,
}

impl Proxy {
    /// None, and a skip, when it is not installed.
    fn start(test: &str, place: &Place, behind: &ScriptedGateway) -> Option<Self> {
        let program = PathBuf::from(PROGRAM);
        if !program.exists() {
            declare_skip(test, "LiteLLM is not installed; `cargo xtask setup` installs it");
            return None;
        }
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let model = |name: &str, parameters: Value| {
            let mut all = json!({"model": "openai/any", "api_key": "none"});
            all.as_object_mut().unwrap().extend(parameters.as_object().unwrap().clone());
            json!({"model_name": name, "litellm_params": all})
        };
        // YAML has JSON in it.
        let config = json!({
            "model_list": [
                model("says", json!({"mock_response": "Said by the proxy."})),
                model("busy", json!({"mock_response": "litellm.RateLimitError"})),
                model("through", json!({"api_base": format!("{}/v1", behind.url())})),
            ],
            "litellm_settings": {"telemetry": false, "num_retries": 0},
            "router_settings": {"num_retries": 0, "disable_cooldowns": true},
            "general_settings": {"master_key": KEY},
        });
        let config = place.write("proxy/config.yaml", config.to_string());
        let log = File::create(place.path().join("proxy/log")).unwrap();
        let mut command = Command::new(program);
        command.arg("--config").arg(config).args(["--host", "127.0.0.1", "--port", &port.to_string()]);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", place.path().join("proxy"));
        // Prices come with the package: nothing is loaded from elsewhere.
        command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").current_dir(place.path());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let mut proxy = Self { process: command.spawn().unwrap(), port };
        proxy.wait(place);
        Some(proxy)
    }

    fn wait(&mut self, place: &Place) {
        let deadline = Instant::now() + START;
        while !self.answers() {
            let log = || fs::read_to_string(place.path().join("proxy/log")).unwrap();
            assert_eq!(self.process.try_wait().unwrap(), None, "the proxy ended: {}", log());
            assert!(Instant::now() < deadline, "the proxy does not answer: {}", log());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn answers(&self) -> bool {
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
            stream.write_all(b"GET /health/liveliness HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        ask().is_ok_and(|answer| answer.split(' ').nth(1) == Some("200"))
    }

    /// Runs the agent with this model, and returns what is in its result file as well.
    fn exec(&self, place: &Place, model: &str, key: &str) -> (Ran, Value) {
        let url = format!("http://127.0.0.1:{}", self.port);
        let result = place.path().join("result.json");
        let mut command = place.command(&["exec", "--workspace", "ws", "--output-mode", "batch"]);
        command.args(["--gateway-base-url", &url, "--model", model, "--prompt", "go"]);
        command.arg("--result-json-path").arg(&result);
        command.env("HOME", place.path().join("home")).env("FULLSEND_API_KEY", key);
        let ran = Ran::from(command.output().unwrap());
        (ran, serde_json::from_slice(&fs::read(result).unwrap()).unwrap())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ended_already = self.process.kill();
        let _nothing_to_wait_for = self.process.wait();
    }
}

#[test]
fn the_agent_works_through_litellm() {
    let place = Place::new();
    place.write("ws/README.md", "hello\n");
    let script = ShellTurns {
        tool: "write_file".to_owned(),
        arguments: json!({"path": "file-{i}.txt", "content": "turn {i}", "mode": "create"}),
        last_word: "written".to_owned(),
        ..ShellTurns::new(2)
    };
    let behind = ScriptedGateway::start(script);
    let Some(proxy) = Proxy::start(test_name!(), &place, &behind) else { return };

    let (ran, told) = proxy.exec(&place, "says", KEY);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Said by the proxy.\n"), "{}", ran.stderr);
    assert_eq!(told["status"], json!("completed"));

    let (ran, told) = proxy.exec(&place, "through", KEY);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "written\n"), "{}", ran.stderr);
    assert_eq!((&told["num_turns"], behind.requests().len()), (&json!(3), 3), "{told}");
    assert_eq!(told["usage"]["input_tokens"].as_u64(), Some(60), "10, 20 and 30: {told}");
    assert_eq!(fs::read_to_string(place.path().join("ws/file-2.txt")).unwrap(), "turn 2");

    let (ran, told) = proxy.exec(&place, "busy", KEY);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("429"), "{}", ran.stderr);
    let report: Value =
        serde_json::from_slice(&fs::read(told["run_report_path"].as_str().unwrap()).unwrap()).unwrap();
    assert!(report["modelAttempts"].as_array().is_some_and(|attempts| attempts.len() > 1), "{report}");

    let (ran, _) = proxy.exec(&place, "says", "sk-another");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("FULLSEND_API_KEY"), "{}", ran.stderr);
    for told in [&ran.stdout, &ran.stderr] {
        assert!(!told.contains("sk-another"), "{told}");
    }
}
