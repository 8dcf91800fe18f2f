#!/bin/sh
# Fails the run early when the tool chain is missing.
set -eu
command -v cargo >/dev/null
