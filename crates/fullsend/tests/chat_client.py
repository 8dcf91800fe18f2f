"""A client of the chat protocol, written from docs/chat-protocol.md and docs/chat-protocol.schema.json alone.

It drives a whole session and holds every line, in both directions, against the schema:

    chat_client.py SCHEMA WORKSPACE COMMAND...

COMMAND is the service. Its model is expected to do as it is told: "write", "ask", "wait" and "talk" (see `main`).
"""

import json
import queue
import subprocess
import sys
import threading

PATIENCE = 60  # seconds: it only ends what would hang


class Schema:
    """As much of JSON Schema as the document uses. What it does not know, it refuses to overlook."""

    SAID_IN_WORDS = {"description", "title", "format", "$schema", "definitions", "default"}
    KINDS = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "null": type(None),
        "number": (int, float),
        "integer": int,
    }

    def __init__(self, document):
        self.document = document
        self.methods = document["x-methods"]

    def problem(self, value, form, where="line"):
        """What is wrong with a value, or None."""
        for keyword, rule in form.items():
            if keyword in self.SAID_IN_WORDS or keyword.startswith("x-"):
                continue
            check = getattr(self, "_" + keyword.replace("$", ""), None)
            if check is None:
                raise NotImplementedError(f"keyword {keyword} of the schema")
            found = check(value, rule, where)
            if found:
                return found
        return None

    def hold(self, value, form):
        found = self.problem(value, form)
        if found:
            raise AssertionError(f"{found}\n{json.dumps(value)}")

    def hold_line(self, value):
        self.hold(value, {"oneOf": self.document["oneOf"]})

    def _ref(self, value, target, where):
        form = self.document
        for part in target.removeprefix("#/").split("/"):
            form = form[part]
        return self.problem(value, form, where)

    def _type(self, value, kinds, where):
        kinds = kinds if isinstance(kinds, list) else [kinds]
        for kind in kinds:
            if isinstance(value, self.KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool)):
                return None
        return f"{where} is not {' or '.join(kinds)}"

    def _const(self, value, expected, where):
        same = value == expected and isinstance(value, bool) == isinstance(expected, bool)
        return None if same else f"{where} is {value!r}, not {expected!r}"

    def _enum(self, value, expected, where):
        return None if value in expected else f"{where} is {value!r}, not one of {expected}"

    def _minimum(self, value, least, where):
        return None if not isinstance(value, (int, float)) or value >= least else f"{where} is below {least}"

    def _required(self, value, keys, where):
        missing = [key for key in keys if key not in value] if isinstance(value, dict) else []
        return f"{where} has no {missing[0]}" if missing else None

    def _properties(self, value, forms, where):
        if not isinstance(value, dict):
            return None
        found = (self.problem(value[key], form, f"{where}.{key}") for key, form in forms.items() if key in value)
        return next(filter(None, found), None)

    def _additionalProperties(self, value, allowed, where):
        if allowed is not True:
            raise NotImplementedError("additionalProperties other than true")

    def _items(self, value, form, where):
        if not isinstance(value, list):
            return None
        found = (self.problem(item, form, f"{where}[{place}]") for place, item in enumerate(value))
        return next(filter(None, found), None)

    def _uniqueItems(self, value, unique, where):
        if unique and isinstance(value, list):
            written = [json.dumps(item, sort_keys=True) for item in value]
            return None if len(set(written)) == len(written) else f"{where} has something twice"

    def _allOf(self, value, forms, where):
        return next(filter(None, (self.problem(value, form, where) for form in forms)), None)

    def _anyOf(self, value, forms, where):
        found = [self.problem(value, form, where) for form in forms]
        return None if None in found else f"{where} has none of the forms: {'; '.join(found)}"

    def _oneOf(self, value, forms, where):
        found = [self.problem(value, form, where) for form in forms]
        if found.count(None) == 1:
            return None
        return f"{where} has {found.count(None)} of the forms, not one: {'; '.join(filter(None, found))}"

    def _not(self, value, form, where):
        return None if self.problem(value, form, where) else f"{where} has what it must not have"


class Refused(Exception):
    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.error = error


class Client:
    """Asks the service and remembers all events, with their lines as they came."""

    def __init__(self, schema, command):
        self.schema = schema
        self.service = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.asked = 0
        self.events = []
        self.written = []
        self.answer_line = ""
        self.seen = 0

    def _read(self):
        for line in self.service.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _next(self):
        """The next line: an answer, or None if it was an event, which is kept."""
        line = self.lines.get(timeout=PATIENCE)
        if line is None:
            raise EOFError("the service ended")
        assert line.endswith(b"\n"), line
        value = json.loads(line.decode("utf-8"))
        self.schema.hold_line(value)
        if value["type"] != "fullsend.chat.event":
            self.answer_line = line.decode("utf-8")
            return value
        assert value["sequence"] == len(self.events) + 1, f"{value['sequence']} after {len(self.events)}"
        self.events.append(value)
        self.written.append(line.decode("utf-8").rstrip("\n"))
        return None

    def call(self, method, **params):
        self.asked += 1
        request = {
            "type": "fullsend.chat.request",
            "protocolVersion": self.schema.document["x-protocolVersion"],
            "requestId": f"python-{self.asked}",
            "method": method,
            "params": params,
        }
        self.schema.hold_line(request)
        self.schema.hold(params, self.schema.methods[method]["params"])
        answer = self.send(request)
        if not answer["ok"]:
            raise Refused(answer["error"])
        self.schema.hold(answer["result"], self.schema.methods[method]["result"])
        return answer["result"]

    def send(self, request):
        """Sends anything and returns the answer to it."""
        self.service.stdin.write(json.dumps(request).encode() + b"\n")
        self.service.stdin.flush()
        answer = None
        while answer is None:
            answer = self._next()
        assert answer["requestId"] == request.get("requestId"), answer
        return answer

    def refused(self, method, **params):
        try:
            self.call(method, **params)
        except Refused as refused:
            return refused.error
        raise AssertionError(f"{method} was not refused")

    def wait_for(self, *kinds):
        """The next event of one of these kinds that was not waited for before."""
        while True:
            while self.seen < len(self.events):
                self.seen += 1
                if self.events[self.seen - 1]["event"]["kind"] in kinds:
                    return self.events[self.seen - 1]
            answer = self._next()
            assert answer is None, f"nobody asked: {answer}"

    def turn_events(self, turn):
        return [event["event"] for event in self.events if event.get("turnId") == turn]

    def close(self):
        self.service.stdin.close()
        try:
            self._next()
            raise AssertionError("the service says something after all is over")
        except EOFError:
            pass
        return self.service.wait(timeout=PATIENCE)


def kinds_of(events):
    """The kinds in order, with the pieces of an answer as one."""
    kinds = []
    for event in events:
        if event["kind"] != "assistant_delta" or kinds[-1:] != ["assistant_delta"]:
            kinds.append(event["kind"])
    return kinds


def texts_fit(events):
    """The pieces of each answer put together are its text."""
    pieces = ""
    for event in events:
        if event["kind"] == "assistant_delta":
            pieces += event["text"]
        elif event["kind"] == "assistant_restarted":
            pieces = ""
        elif event["kind"] == "assistant_completed":
            assert event["text"] == pieces, (event, pieces)
            pieces = ""


def equal(found, expected):
    assert found == expected, f"\nfound    {found}\nexpected {expected}"


def agree_on_a_version(client):
    welcome = client.call("hello", protocolVersions=[1, 7], client="python")
    equal(welcome["protocolVersion"], 1)
    nothing_in_common = client.refused("hello", protocolVersions=[7])
    equal(nothing_in_common["code"], "unsupported_protocol_version")
    equal(nothing_in_common["details"]["supported"], welcome["supportedVersions"])
    newer = {"type": "fullsend.chat.request", "protocolVersion": 7, "requestId": "n", "method": "status", "params": {}}
    equal(client.send(newer)["error"]["code"], "unsupported_protocol_version")
    equal(client.send({"nothing": "of the sort"})["error"]["code"], "invalid_request")


def turn_with_a_file(client):
    client.call("start_turn", sessionId="s", turnId="file", input={"text": "write"})
    client.wait_for("turn_completed", "turn_failed")
    events = client.turn_events("file")
    equal(
        kinds_of(events),
        ["turn_started", "tool_started", "tool_completed", "file_changed"]
        + ["assistant_delta", "assistant_completed", "turn_completed"],
    )
    assert sum(event["kind"] == "assistant_delta" for event in events) > 1, "the answer came in one piece"
    equal(events[2]["status"], "completed")
    equal(events[-1]["finalText"], events[-2]["text"])
    assert events[-1]["usage"]["totalTokens"] > 0


def turn_with_a_question(client, turn, decision):
    """A person is asked before the command is run."""
    client.call("start_turn", sessionId="s", turnId=turn, input={"text": "ask"})
    approval = client.wait_for("approval_requested")["event"]["approval"]
    equal(approval["tool"]["toolId"], "bash")
    assert "command" in approval["input"], approval
    equal(client.refused("start_turn", sessionId="s", input={"text": "ask"}).get("retryable"), True)
    unknown = client.refused("resolve_approval", sessionId="s", approvalId="x", decision="allow")
    equal(unknown["code"], "approval_not_found")
    client.call("resolve_approval", sessionId="s", approvalId=approval["approvalId"], decision=decision)
    resolved = client.wait_for("approval_resolved")["event"]
    equal((resolved["decision"], resolved["by"]), (decision, "client"))
    client.wait_for("turn_completed", "turn_failed")
    ended = [event for event in client.turn_events(turn) if event["kind"] == "tool_completed"]
    equal([event["status"] for event in ended], ["completed" if decision == "allow" else "denied"])


def turn_that_is_cancelled(client):
    client.call("start_turn", sessionId="s", turnId="long", input={"text": "ask"})
    client.wait_for("approval_requested")
    status = client.call("cancel_turn", sessionId="s", turnId="long", reason="changed my mind")
    assert status["status"] in ("canceling", "idle"), status
    equal(client.wait_for("turn_canceled")["event"]["reason"], "changed my mind")
    after = client.wait_for("status_changed")["event"]["session"]
    equal((after["status"], after["reusable"]), ("idle", True))
    resolved = [event for event in client.turn_events("long") if event["kind"] == "approval_resolved"]
    equal([(event["decision"], event["by"]) for event in resolved], [("deny", "canceled")])
    equal(client.refused("cancel_turn", sessionId="s")["code"], "turn_not_found")


def replay(client):
    """All events again, in pages, from wherever a client left off."""
    for after in (0, 5, len(client.events) - 1, len(client.events)):
        listed = []
        while True:
            page = client.call("list_events", sessionId="s", afterSequence=after + len(listed), limit=7)
            equal(page["latestSequence"], len(client.events))
            first = after + len(listed)
            for line in client.written[first : first + len(page["events"])]:
                assert line in client.answer_line, f"not given again as it was written: {line}"
            listed += page["events"]
            if not page.get("more"):
                break
        equal(listed, client.events[after:])


def main(schema_file, workspace, *command):
    with open(schema_file, encoding="utf-8") as file:
        schema = Schema(json.load(file))
    client = Client(schema, command)
    agree_on_a_version(client)

    policy = {
        "type": "fullsend.chat-policy",
        "toolMode": "workspace-write",
        "allowedToolIds": ["bash", "write_file"],
        "allowedSubagentProfiles": [],
        "approvalToolIds": ["bash"],
    }
    session = client.call("start_session", sessionId="s", workspace={"hostPath": workspace}, policy=policy)
    equal((session["status"], session["turnCount"]), ("idle", 0))
    equal(client.wait_for("session_started")["event"]["session"], session)
    equal(client.refused("start_session", sessionId="s", workspace={"hostPath": workspace})["code"], "session_exists")
    wider = dict(policy, allowedToolIds=["bash", "write_file", "web_fetch"])
    denied = client.refused("start_turn", sessionId="s", input={"text": "write"}, policy=wider)
    equal(denied["code"], "policy_denied")

    turn_with_a_file(client)
    turn_with_a_question(client, "yes", "allow")
    turn_with_a_question(client, "no", "deny")
    turn_that_is_cancelled(client)
    for turn in ("file", "yes", "no", "long"):
        texts_fit(client.turn_events(turn))
    replay(client)

    turns = client.call("list_turns", sessionId="s")["turns"]
    stands = [(record["turn"]["turnId"], record["turn"]["status"]) for record in turns]
    equal(stands, [("file", "completed"), ("yes", "completed"), ("no", "completed"), ("long", "canceled")])
    equal(len(client.call("list_turns", status="canceled")["turns"]), 1)
    equal(client.call("status", sessionId="s")["sessions"][0]["turnCount"], 4)
    equal(client.call("status", sessionId="nobody")["sessions"], [])
    equal(client.call("close_session", sessionId="s", reason="done")["status"], "closed")
    equal(client.events[-1]["event"], {"kind": "session_closed", "reason": "done"})
    equal(client.refused("start_turn", sessionId="s", input={"text": "write"})["code"], "session_closed")
    equal(client.close(), 0)
    print(f"{len(client.events)} events, {client.asked} requests")


if __name__ == "__main__":
    main(*sys.argv[1:])
