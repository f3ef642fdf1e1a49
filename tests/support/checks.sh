# shellcheck shell=bash
# Check lines for test scripts, on the host and in the lab VM. Sourced; at the end of the script the sum is printed and
# the status is 1 if a check failed.

# The counts are files, so that checks in subshells and in background jobs count as well.
checks_dir=$(mktemp -d)
: > "$checks_dir/passed"
: > "$checks_dir/failed"

# check WHAT COMMAND...: COMMAND must succeed. Its output is shown only if it does not.
check() {
    local what=$1 output rc=0
    shift
    output=$("$@" 2>&1) || rc=$?
    if [ $rc -eq 0 ]; then
        echo "ok   $what"
        echo . >> "$checks_dir/passed"
    else
        echo "FAIL $what: status $rc of: $*"
        [ -z "$output" ] || tail -n 20 <<< "$output" | sed 's/^/     | /'
        echo . >> "$checks_dir/failed"
    fi
    return $rc
}

# refused COMMAND...: COMMAND fails. (With a reason that matters: refused_with REASON COMMAND...)
refused() { ! "$@"; }

# refused_with REASON COMMAND...: COMMAND fails and its output holds REASON, a basic regular expression.
refused_with() {
    local reason=$1 output
    shift
    if output=$("$@" 2>&1); then
        echo "not refused: $output"
        return 1
    fi
    echo "$output"
    grep -q -e "$reason" <<< "$output"
}

# has PATTERN COMMAND...: COMMAND succeeds and a line of its output matches PATTERN, a basic regular expression.
has() {
    local pattern=$1 output
    shift
    output=$("$@" 2>&1) || { echo "$output"; return 1; }
    echo "$output"
    grep -q -e "$pattern" <<< "$output"
}

# lacks PATTERN COMMAND...: COMMAND succeeds and no line of its output matches. Not the same as "refused has", which is
# also content with a COMMAND that fails.
lacks() {
    local pattern=$1 output
    shift
    output=$("$@" 2>&1) || { echo "$output"; return 1; }
    echo "$output"
    if grep -q -e "$pattern" <<< "$output"; then
        # Last, for of a long output the end is shown.
        echo "that has:"
        grep -e "$pattern" -A 15 <<< "$output" | head -n 18
        return 1
    fi
}

# is TEXT COMMAND...: COMMAND succeeds and prints TEXT, nothing else.
is() {
    local text=$1 output
    shift
    output=$("$@" 2>&1) || { echo "$output"; return 1; }
    [ "$output" = "$text" ] || { echo "want: $text"; echo "have: $output"; return 1; }
}

# eventually COMMAND...: COMMAND succeeds at some time. Shows the output of the last try. The deadline is against hanging
# alone: how long anything takes is printed, and never decides, because another machine has more to do. The try runs in a
# shell of its own, so a script that is ended meanwhile would outlast it: it checks whether the script is there.
eventually() {
    local end=$((SECONDS + ${CHECK_DEADLINE:-120})) output
    until output=$("$@" 2>&1); do
        kill -0 $$ 2> /dev/null || exit 1
        [ "$SECONDS" -lt "$end" ] || { echo "$output"; return 1; }
        sleep "${CHECK_PAUSE:-0.1}"
    done
}

# section TITLE: a headline with the seconds since power-on.
section() { echo "== $* ($(cut -d' ' -f1 /proc/uptime) s)"; }

# At the end of the script: the sum, if there was any check. A script that failed otherwise keeps its status.
checks_end() {
    local rc=$? passed failed
    passed=$(wc -l < "$checks_dir/passed")
    failed=$(wc -l < "$checks_dir/failed")
    [ $((passed + failed)) -eq 0 ] || echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] || [ $rc -ne 0 ] || rc=1
    rm -rf "$checks_dir"
    exit $rc
}
trap checks_end EXIT
