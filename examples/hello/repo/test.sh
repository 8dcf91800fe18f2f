#!/bin/sh
# Tests of slug.sh, one line each.
failed=0
check() {
    found=$(sh slug.sh "$1")
    if [ "$found" = "$2" ]; then
        echo "ok   $1"
    else
        echo "FAIL $1: expected $2, found $found"
        failed=1
    fi
}
check "Hello" "hello"
check "Hello World" "hello-world"
check "Hello,   World" "hello-world"
exit $failed
