#!/bin/sh
# Accepts a result that names at least one test.
set -eu
grep -q test "$FULLSEND_OUTPUT_DIR/result.json"
