#!/bin/sh
# Runs on the host after each attempt. What it prints reaches the agent when it exits with anything but 0.
set -eu
if ! report=$(cd "$TARGET_REPO_DIR" && sh test.sh); then
    echo "The tests still fail:"
    echo "$report"
    exit 1
fi
