//! Which addresses a command would connect to.

use fullsend_guard::command::analyse;

/// The targets of a command; those of which only the start is known end in `…`.
fn targets(command: &str) -> Vec<String> {
    let shown = |request: fullsend_guard::command::Request| {
        if request.complete { request.target } else { format!("{}…", request.target) }
    };
    analyse(command).requests.into_iter().map(shown).collect()
}

#[test]
fn addresses_of_requests_are_listed() {
    let table: &[(&str, &[&str])] = &[
        ("curl http://169.254.169.254/latest/meta-data/", &["http://169.254.169.254/latest/meta-data/"]),
        ("curl http://172.16.0.1/ && curl http://172.32.0.1/", &["http://172.16.0.1/", "http://172.32.0.1/"]),
        ("curl http://localhost:3000/", &["http://localhost:3000/"]),
        ("curl 'http://[::ffff:127.0.0.1]/'", &["http://[::ffff:127.0.0.1]/"]),
        ("curl http://[fd00:ec2::254]/latest", &["http://[fd00:ec2::254]/latest"]),
        ("curl 'data://text/plain;base64,AAA'", &["data://text/plain;base64,AAA"]),
        ("git clone ssh://git@github.com/x", &["ssh://git@github.com/x"]),
        ("git clone git@github.com:x/y", &["git@github.com:x/y"]),
        ("websocat ws://10.0.0.1/", &["ws://10.0.0.1/"]),
        (
            "curl http://user:pass@10.0.0.1/ http://example.com@10.0.0.1/",
            &["http://user:pass@10.0.0.1/", "http://example.com@10.0.0.1/"],
        ),
        ("curl http:///x", &["http:///x"]),
        ("URL=http://10.0.0.1/x; echo $URL; curl $URL", &["http://10.0.0.1/x"]),
        ("export U=http://10.0.0.1; curl \"${U}/x\"", &["http://10.0.0.1/x"]),
        ("curl $URL", &["…"]),
        ("curl https://api.example.org/$ID/x", &["https://api.example.org/…"]),
        ("curl \"${U:-http://10.0.0.1}\"", &["…"]),
        ("U=http://a.example; if x; then U=http://10.0.0.1; fi; curl $U", &["…"]),
        ("curl 169.254.169.254/latest", &["169.254.169.254/latest"]),
        ("curl --url http://10.0.0.1 -o out", &["http://10.0.0.1"]),
        (
            "curl -x http://10.0.0.1:8080 https://example.org",
            &["https://example.org", "http://10.0.0.1:8080"],
        ),
        ("curl -sSLo out https://example.org/a --max-time 10", &["https://example.org/a"]),
        ("curl --resolve a.example:443:127.0.0.1 https://a.example", &["https://a.example", "127.0.0.1"]),
        (
            "curl --connect-to a.example:443:10.0.0.1:80 https://a.example",
            &["https://a.example", "10.0.0.1:80"],
        ),
        (
            "https_proxy=http://10.0.0.1:3128 curl https://example.org",
            &["https://example.org", "http://10.0.0.1:3128"],
        ),
        ("wget -q -O - http://10.0.0.1/x", &["http://10.0.0.1/x"]),
        ("wget -e http_proxy=10.0.0.1:80 http://a.example", &["http://a.example", "10.0.0.1:80"]),
        ("http POST 10.0.0.1/x a=1", &["10.0.0.1/x"]),
        ("aria2c -d out http://10.0.0.1/x", &["http://10.0.0.1/x"]),
        ("git remote add up https://git.example/x && git fetch up", &["https://git.example/x"]),
        ("git push origin main", &[]),
        ("git fetch https://10.0.0.1/x main", &["https://10.0.0.1/x"]),
        ("pip install --index-url http://10.0.0.1/simple x", &["http://10.0.0.1/simple"]),
        ("npm install http://10.0.0.1/x.tgz", &["http://10.0.0.1/x.tgz"]),
        ("go get example.org/x/y@latest", &["example.org/x/y@latest"]),
        ("ssh -i key -p 2222 me@10.0.0.1 uptime", &["me@10.0.0.1:2222"]),
        ("ssh -J jump.example host.example", &["host.example", "jump.example"]),
        ("scp a.txt me@10.0.0.1:/tmp/", &["me@10.0.0.1:/tmp/"]),
        ("rsync -a src/ 10.0.0.1:src/", &["10.0.0.1:src/"]),
        ("nc -zv 10.0.0.1 80", &["10.0.0.1:80"]),
        ("nc -l 8080", &[]),
        ("telnet 10.0.0.1 25", &["10.0.0.1:25"]),
        ("ping -c 1 10.0.0.1", &["10.0.0.1"]),
        ("dig +short TXT x.example @10.0.0.1", &["x.example", "10.0.0.1"]),
        ("openssl s_client -connect 10.0.0.1:443", &["10.0.0.1:443"]),
        ("ftp 10.0.0.1", &["10.0.0.1"]),
        ("socat - TCP:10.0.0.1:80", &["10.0.0.1:80"]),
        ("psql -h 10.0.0.1 -c 'select 1'", &["10.0.0.1"]),
        ("psql postgres://me@10.0.0.1/db", &["postgres://me@10.0.0.1/db"]),
        ("redis-cli -h 10.0.0.1 get x", &["10.0.0.1"]),
        ("exec 3<>/dev/tcp/10.0.0.1/80", &["10.0.0.1:80"]),
        ("cat < /dev/tcp/$H/80", &["…"]),
        ("gawk 'BEGIN{\"/inet/tcp/0/10.0.0.1/80\" |& getline x}'", &["10.0.0.1:80"]),
        ("python3 -c 'import urllib.request as u; u.urlopen(\"http://10.0.0.1/\")'", &["http://10.0.0.1/"]),
        ("python3 - <<'P'\nimport requests\nrequests.get('http://10.0.0.1/')\nP", &["http://10.0.0.1/"]),
        ("python3 -c 'import socket; socket.create_connection((\"10.0.0.1\", 80))'", &["10.0.0.1:80"]),
        ("node -e 'fetch(\"http://10.0.0.1/\")'", &["http://10.0.0.1/"]),
        ("python3 -c 'import sys,urllib.request as u; u.urlopen(sys.argv[1])' x", &["…"]),
        ("bash -c 'curl http://10.0.0.1'", &["http://10.0.0.1"]),
        ("echo $(curl -s http://10.0.0.1)", &["http://10.0.0.1"]),
        ("cat <<EOF\n$(curl http://10.0.0.1)\nEOF", &["http://10.0.0.1"]),
        ("curl > /dev/null http://10.0.0.1", &["http://10.0.0.1"]),
        ("cat urls.txt | xargs curl -s", &["…"]),
        ("ls && sudo env A=b timeout 5 curl http://10.0.0.1", &["http://10.0.0.1"]),
        ("curl http://{10.0.0.1,10.0.0.2}/", &["http://10.0.0.1/", "http://10.0.0.2/"]),
    ];
    assert_listed(table);
}

fn assert_listed(table: &[(&str, &[&str])]) {
    let wrong: Vec<String> = table
        .iter()
        .filter(|(command, expected)| targets(command) != *expected)
        .map(|(command, expected)| {
            format!("{command}\n  listed   {:?}\n  expected {expected:?}", targets(command))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn addresses_that_come_by_detours_are_listed() {
    let table: &[(&str, &[&str])] = &[
        ("echo http://10.0.0.1/ | xargs curl", &["http://10.0.0.1/"]),
        ("echo 10.0.0.1 | xargs -I{} curl http://{}/x", &["http://10.0.0.1/x"]),
        ("cat list | xargs -I{} curl http://{}/x", &["http://…"]),
        ("cat list | xargs curl", &["…"]),
        ("mytool http://10.0.0.1/", &["http://10.0.0.1/"]),
        ("mytool --url=http://10.0.0.1/ -v", &["http://10.0.0.1/"]),
        ("mytool 'see http://10.0.0.1/'", &[]),
        ("echo http://10.0.0.1/", &[]),
        ("grep -rn http://10.0.0.1/ .", &[]),
        ("curl -K - <<'EOF'\nurl = \"http://10.0.0.1/\"\nEOF", &["http://10.0.0.1/"]),
        ("curl --config settings", &["…"]),
        ("wget -i list.txt", &["…"]),
        ("aria2c -i list.txt", &["…"]),
        ("for u in http://10.0.0.1/; do curl $u; done", &["http://10.0.0.1/"]),
        ("bash -c 'U=http://10.0.0.1/; curl $U'", &["http://10.0.0.1/"]),
        ("if x; then U=http://10.0.0.1/; curl $U; fi", &["http://10.0.0.1/"]),
        ("a=(curl http://10.0.0.1/); \"${a[@]}\"", &["http://10.0.0.1/"]),
        (
            "python3 <<EOF\nimport urllib.request\nurllib.request.urlopen('http://10.0.0.1/')\nEOF",
            &["http://10.0.0.1/"],
        ),
        ("perl -MLWP::Simple -e 'getprint \"http://10.0.0.1/\"'", &["http://10.0.0.1/"]),
        ("curl file:///etc/passwd", &["file:///etc/passwd"]),
        ("busybox wget http://10.0.0.1/", &["http://10.0.0.1/"]),
        ("git clone 'ext::sh -c id' x", &["ext::sh -c id"]),
    ];
    assert_listed(table);
}

#[test]
fn addresses_that_are_data_are_not_requests() {
    for command in [
        "sed 's|https://github.com/||; s|/issues/.*||' f",
        "echo http://169.254.169.254/",
        "grep -r 'http://10.0.0.1' .",
        "git commit -m 'see http://10.0.0.1/'",
        "cat <<'EOF' > a.md\ncurl http://10.0.0.1/\nEOF",
        "# curl http://10.0.0.1/",
        "X='http://10.0.0.1/'; echo \"$X\"",
        "printf '%s' http://10.0.0.1 > f",
        "awk '/http:/ {print}' f",
        "jq '.url == \"http://10.0.0.1\"' f",
        "[ \"$u\" = http://10.0.0.1 ]",
        "grep x <<< http://10.0.0.1",
        "python3 -c 'print(\"http://10.0.0.1\")'",
        "curl -H 'Referer: http://10.0.0.1' -e http://10.0.0.2 -d 'u=http://10.0.0.3' --version",
        "gh pr create --body 'http://10.0.0.1'",
    ] {
        assert_eq!(targets(command), Vec::<String>::new(), "{command}");
    }
}
