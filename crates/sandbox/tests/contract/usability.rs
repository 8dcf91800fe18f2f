//! What must still work: a sandbox in which ordinary tools fail is one that people turn off.

use crate::support::context::Context;

/// Runs a line if the session has the tool; where it has not, that is declared.
async fn works(cx: &Context, tool: &str, line: &str, expected: &str) {
    let id = cx.session().await;
    if !cx.sh(&id, &format!("command -v {tool}")).await.success() {
        return cx.skip(&format!("there is no {tool} inside"));
    }
    let result = cx.sh(&id, &format!("cd $HOME && {line}")).await;
    assert!(result.success(), "{line}: {result:?}");
    assert_eq!(result.stdout.display().trim_end(), expected, "{line}");
}

pub(crate) async fn shells_and_pipes(cx: &Context) {
    works(cx, "sort", "seq 1 100000 | sort -rn | tail -n 1", "1").await;
    works(cx, "tar", "mkdir a && echo x > a/f && tar cf - a | (mkdir b && tar xf - -C b) && cat b/a/f", "x")
        .await;
    works(cx, "mktemp", "f=$(mktemp) && d=$(mktemp -d) && test -w $f && test -d $d && echo ok", "ok").await;
    works(cx, "timeout", "timeout 5 echo ok; timeout -s KILL 0.1 sleep 9; echo $?", "ok\n137").await;
    works(cx, "bash", "bash -c 'cat <(echo ok) && echo more > /dev/stdout'", "ok\nmore").await;
    works(cx, "id", "test -n \"$(id -u)\" && id -un > /dev/null && echo ok", "ok").await;
    works(cx, "xargs", "seq 1 8 | xargs -P 4 -n 1 echo | sort -n | tail -n 1", "8").await;
    works(cx, "flock", "flock lock echo ok", "ok").await;
}

pub(crate) async fn modes_owners_and_links(cx: &Context) {
    let line = "echo x > f && chmod 755 f && chmod -R u+w . && ln f g && ln -s f h && touch -d @1 f && \
        cp -a f c && mv c d && stat -c %a f && chown $(id -u):$(id -g) f && mkfifo p && echo ok";
    works(cx, "sh", line, "755\nok").await;
}

const PYTHON: &str = "cat > p.py <<'END'
import multiprocessing, socket, subprocess, tempfile, threading
def double(x): return 2 * x
if __name__ == '__main__':
    a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'
    with multiprocessing.Pool(2) as pool: print(sum(pool.map(double, range(10))), flush=True)
    t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()
    print(subprocess.check_output(['echo', 'child'], text=True).strip())
    tempfile.NamedTemporaryFile().write(b'x')
END
/usr/bin/python3 p.py";

pub(crate) async fn python_with_processes(cx: &Context) {
    works(cx, "/usr/bin/python3", PYTHON, "90\nthread\nchild").await;
}

pub(crate) async fn compilers_and_make(cx: &Context) {
    let line = "printf '#include <stdio.h>\\nint main(void) { puts(\"built\"); }\\n' > a.c && cc -O2 -o a a.c && ./a";
    works(cx, "cc", line, "built").await;
    let line = "mkdir m && cd m && printf 'all: a b c d\\n%%:\\n\\t@sleep 0.05; echo x > $@\\n' > Makefile && \
        make -s -j4 && ls | wc -l";
    works(cx, "make", line, "6").await;
}

pub(crate) async fn git_commits(cx: &Context) {
    let line = "git init -q r && cd r && echo x > f && git add f && \
        git -c user.name=a -c user.email=a@b commit -q -m first && git log --format=%s && git status --porcelain";
    works(cx, "git", line, "first").await;
}

const NODE: &str = "cat > n.js <<'END'
const { Worker, isMainThread, parentPort } = require('worker_threads');
const { execFileSync, fork } = require('child_process');
if (process.argv[2] === 'child') { process.send('child'); process.disconnect(); }
else if (!isMainThread) { parentPort.postMessage('worker'); }
else {
  new Worker(__filename).on('message', (m) => {
    console.log(m, execFileSync('echo', ['sync']).toString().trim());
    fork(__filename, ['child']).on('message', (c) => console.log(c));
  });
}
END
node n.js";

pub(crate) async fn node_with_workers(cx: &Context) {
    works(cx, "node", NODE, "worker sync\nchild").await;
}

pub(crate) async fn what_programs_read_about_the_machine(cx: &Context) {
    works(cx, "nproc", "test $(nproc) -ge 1 && echo ok", "ok").await;
    works(cx, "grep", "grep -q MemTotal /proc/meminfo && grep -q processor /proc/cpuinfo && echo ok", "ok")
        .await;
    works(cx, "ps", "ps -e -o comm= | grep -q ps && echo ok", "ok").await;
    works(cx, "df", "df /tmp > /dev/null && echo ok", "ok").await;
    works(cx, "date", "TZ=Europe/Berlin date -d @0 +%H", "01").await;
    works(cx, "getent", "getent passwd $(id -u) > /dev/null && echo ok", "ok").await;
    works(cx, "head", "head -c 8 /dev/urandom | wc -c", "8").await;
}
