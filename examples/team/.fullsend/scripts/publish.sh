#!/bin/sh
# Runs only after the result was validated.
set -eu
echo "publishing for $REPOSITORY"
