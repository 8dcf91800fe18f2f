#!/bin/sh
# Runs on the host after each attempt. What it prints reaches the agent when it exits with anything but 0.
# The tests themselves are the agent's by now, so they run in a sandbox that sees its copy of the repository and nothing else.
set -eu
cd "$TARGET_REPO_DIR"
if ! report=$("$FULLSEND_BINARY" --quiet sandbox exec --overlay . -- sh test.sh); then
    echo "The tests still fail:"
    echo "$report"
    exit 1
fi
