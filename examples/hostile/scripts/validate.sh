#!/bin/sh
# Runs on the host, and reads what the agent delivers without running any of it.
set -eu
grep -q '"kind"' output/agent-result.json
