# shellcheck shell=bash
# Stages of a long script: what is being done, for how long, and its output in a log file of which only the end is
# shown, and only on failure. Sourced by tests/run and examples/demo/run.

logs=${logs:-build/logs}
mkdir -p "$logs"
stage_names=() stage_notes=()

# stage_failed NAME STATUS BEGIN LOG: says so, with the end of the log, and ends the script.
stage_failed() {
    tail -n "${stage_tail:-60}" "$4" | sed 's/^/    | /'
    printf '==> %s FAILED with status %d after %d s; the whole log is %s\n' "$1" "$2" $((SECONDS - $3)) "$4"
    exit 1
}

# end_trees PID...: ends processes and all that they have started, which a signal to them alone would leave.
end_trees() {
    local pid children
    for pid; do
        children=($(< "/proc/$pid/task/$pid/children")) || true
        kill "$pid" || true
        end_trees "${children[@]}"
    done 2> /dev/null
}

# stage NAME COMMAND...: runs COMMAND with its output in $logs/NAME.log. Ends the script if it fails.
# Meanwhile, on a terminal, the last line of the log is shown; elsewhere a line every half minute.
stage() {
    local name=$1 log begin=$SECONDS rc=0 pid last=0
    shift
    log=$logs/${name//[ \/]/-}.log
    printf '==> %s (log: %s)\n' "$name" "$log"
    "$@" > "$log" 2>&1 &
    pid=$!
    # A job in the background gets no Ctrl-C by itself.
    trap 'end_trees "$pid"; exit 130' INT TERM
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
    [ $rc -eq 0 ] || stage_failed "$name" $rc "$begin" "$log"
    printf '    done in %d s\n' $((SECONDS - begin))
    stage_names+=("$name") stage_notes+=("$((SECONDS - begin)) s")
}

# build PRESET TARGET...: configures if needed, and builds with two jobs. With CI set, when nobody edits what was built:
# the product's sources some at a time, and of debug information the line numbers alone.
build() {
    local preset=$1
    shift
    [ -e "build/$preset/build.ninja" ] || cmake --preset "$preset" ${CI:+-D VFRAIL_UNITY=ON -D CMAKE_CXX_FLAGS_DEBUG=-g1}
    cmake --build --preset "$preset" --target "$@"
}

# queue NAME COMMAND...: a stage for run_queued.
queued_names=() queued_commands=()
queue() {
    queued_names+=("$1")
    shift
    queued_commands+=("$(printf '%q ' "$@")")
}

# run_queued MOST: runs what was queued, MOST at a time, each with its own log as by stage(). Ends the script if one
# fails. For stages that leave a core idle.
run_queued() {
    local most=$1 next=0 i pid rc last=$SECONDS
    local -A began=() logs_of=()
    local -A running=()  # process -> index
    trap 'end_trees "${!running[@]}"; exit 130' INT TERM
    while [ "$next" -lt ${#queued_names[@]} ] || [ ${#running[@]} -gt 0 ]; do
        while [ "$next" -lt ${#queued_names[@]} ] && [ ${#running[@]} -lt "$most" ]; do
            logs_of[$next]=$logs/${queued_names[next]//[ \/]/-}.log
            began[$next]=$SECONDS
            printf '==> %s (log: %s)\n' "${queued_names[next]}" "${logs_of[$next]}"
            eval "${queued_commands[next]}" > "${logs_of[$next]}" 2>&1 &
            running[$!]=$next
            next=$((next + 1))
        done
        sleep 0.2
        for pid in "${!running[@]}"; do
            i=${running[$pid]}
            if kill -0 "$pid" 2> /dev/null; then
                [ $((SECONDS - last)) -lt 30 ] || printf '    %4d s  %s: %.60s\n' $((SECONDS - began[$i])) \
                    "${queued_names[i]}" "$(tail -n 1 "${logs_of[$i]}" | tr -d '\r\033')"
                continue
            fi
            rc=0
            wait "$pid" || rc=$?
            unset "running[$pid]"
            if [ $rc -ne 0 ]; then
                end_trees "${!running[@]}"
                stage_failed "${queued_names[i]}" $rc "${began[$i]}" "${logs_of[$i]}"
            fi
            printf '    done in %d s: %s\n' $((SECONDS - began[$i])) "${queued_names[i]}"
            stage_names+=("${queued_names[i]}") stage_notes+=("$((SECONDS - began[$i])) s")
        done
        [ $((SECONDS - last)) -lt 30 ] || last=$SECONDS
    done
    trap - INT TERM
    queued_names=() queued_commands=()
}
