# shellcheck shell=bash
# Stages of a long script: what is being done, for how long, and its output in a log file of which only the end is
# shown, and only on failure. Sourced by tests/run and examples/demo/run.

logs=${logs:-build/logs}
mkdir -p "$logs"
stage_names=() stage_notes=()

# stage NAME COMMAND...: runs COMMAND with its output in $logs/NAME.log. Ends the script if it fails.
# Meanwhile, on a terminal, the last line of the log is shown; elsewhere a line every half minute.
stage() {
    local name=$1 log begin=$SECONDS rc=0 pid last=0
    shift
    log=$logs/${name//[ \/]/-}.log
    printf '==> %s (log: %s)\n' "$name" "$log"
    "$@" > "$log" 2>&1 &
    pid=$!
    # A job in the background does not hear of Ctrl-C by itself.
    trap 'kill "$pid" 2> /dev/null; exit 130' INT TERM
    while kill -0 "$pid" 2> /dev/null; do
        if [ -t 1 ]; then
            printf '\r\033[K    %4d s  %.90s' $((SECONDS - begin)) "$(tail -n 1 "$log" 2> /dev/null | tr -d '\r\033')"
        elif [ $((SECONDS - begin)) -ge $((last + 30)) ]; then
            last=$((SECONDS - begin))
            printf '    %4d s  %.90s\n' "$last" "$(tail -n 1 "$log" | tr -d '\r\033')"
        fi
        sleep 0.2
    done
    wait "$pid" || rc=$?
    trap - INT TERM
    [ ! -t 1 ] || printf '\r\033[K'
    if [ $rc -ne 0 ]; then
        tail -n "${stage_tail:-60}" "$log" | sed 's/^/    | /'
        printf '==> %s FAILED with status %d after %d s; the whole log is %s\n' "$name" $rc $((SECONDS - begin)) "$log"
        exit 1
    fi
    printf '    done in %d s\n' $((SECONDS - begin))
    stage_names+=("$name") stage_notes+=("$((SECONDS - begin)) s")
}

# build PRESET TARGET...: configures if needed, and builds with two jobs.
build() {
    local preset=$1
    shift
    [ -e "build/$preset/build.ninja" ] || cmake --preset "$preset"
    cmake --build --preset "$preset" --target "$@"
}
