# shellcheck shell=bash
# What the measurements on the host and in the lab VM share: subjects, rounds, counts, the table. Sourced.
# Needs $bench, a folder of its own, and the programs $floor, $measure, $vfrail_cni, $host_device, $ipam_folder.

# A scene is one table: subjects that attach the same devices in turn. A subject is a CNI program, and the floor.
#
# scene NAME TITLE: begins one.
scene() {
    scene=$bench/$1 title=$2 subjects=()
    mkdir -p "$scene"
}
# subject NAME PROGRAM: one more for this scene. attachment CONFIG VARIABLE=VALUE...: one more for this subject.
subject() {
    subject=$scene/$1 attachments=0
    mkdir -p "$subject"
    ln -s "$2" "$subject/program"
    subjects+=("$subject")
}
attachment() {
    local folder=$subject/$attachments config=$1
    shift
    mkdir "$folder"
    echo "$config" > "$folder/config"
    printf '%s\n' "$@" "CNI_PATH=$ipam_folder" CNI_ARGS=IgnoreUnknown=1 PATH=/usr/bin:/bin > "$folder/environment"
    attachments=$((attachments + 1))
}

# ipam KIND NUMBER: the section of a configuration, empty for none; each subject has leases of its own.
ipam() {
    case $1 in
        none) ;;
        static) echo ", \"ipam\": {\"type\": \"static\", \"addresses\": [{\"address\": \"10.8.1.$2/16\"}]}" ;;
        host-local) echo ", \"ipam\": {\"type\": \"host-local\", \"dataDir\": \"$subject/leases\", \"subnet\": \"10.8.0.0/16\"}" ;;
    esac
}

# under_strace OPTIONS... : ADD and DEL of the subject's first attachment; the traces are $subject/ADD and $subject/DEL.
under_strace() {
    local verb environment
    mapfile -t environment < "$subject/0/environment"
    for verb in ADD DEL; do
        env -i "${environment[@]}" CNI_COMMAND=$verb strace -f -qq -s 512 "$@" -o "$subject/$verb" "$subject/program" \
            < "$subject/0/config" >> "$subject/output" 2>&1 || { tail "$subject/output" >&2; return 1; }
    done
}

# What a trace has. strace does not know the protocol of a socket of another namespace, and then shows the type as a
# number and the attributes as bytes: 0x12 RTM_GETLINK, 0x13 RTM_SETLINK; IFLA_NET_NS_FD is 0x1c, IFLA_EXT_MASK 0x1d and
# its lowest bit RTEXT_FILTER_VF; 0x300 is NLM_F_DUMP.
system_calls() { grep -cE '^[0-9]+ +[a-z][a-z0-9_]*\(' "$1"; }
sent() { grep -E '^[0-9]+ +send(to|msg)\(.*nlmsg_type=' "$1"; }
messages() { sent "$1" | wc -l; }
moves() { sent "$1" | grep -E 'nlmsg_type=(0x13|RTM_SETLINK)' | grep -cE 'IFLA_NET_NS_FD|\\x08\\x00\\x1c\\x00'; }
vf_queries() {
    sent "$1" | grep -E 'nlmsg_type=(0x12|RTM_GETLINK)' |
        grep -cE 'RTEXT_FILTER_VF|\\x08\\x00\\x1d\\x00\\x[0-9a-f][13579bdf]'
}
link_dumps() { sent "$1" | grep -E 'nlmsg_type=(0x12|RTM_GETLINK)' | grep -cE 'NLM_F_DUMP|nlmsg_flags=[^,]*0x3'; }

# first_message VERB: microseconds from the return of execve to the first netlink message. With --seccomp-bpf the
# program stops at these calls only, so nothing in between is strace's.
first_message() {
    awk -F '[ <>]+' '/ execve\(/ && !begin { begin = $2 + $(NF - 1) }
        /nlmsg_type=/ { printf "%d\n", ($2 - begin) * 1e6; exit }' "$subject/$1"
}
median() { sort -n | awk '{ at[NR] = $1 } END { print NR % 2 ? at[(NR + 1) / 2] : (at[NR / 2] + at[NR / 2 + 1]) / 2 }'; }

count_subject() {
    local name=${subject##*/} round
    under_strace || return      # makes folders that later calls find
    under_strace || return
    printf '%s\t' "$name" "$(system_calls "$subject/ADD")+$(system_calls "$subject/DEL")" \
        "$(messages "$subject/ADD")+$(messages "$subject/DEL")" "$(moves "$subject/ADD")+$(moves "$subject/DEL")" \
        "$(vf_queries "$subject/ADD")+$(vf_queries "$subject/DEL")" \
        "$(link_dumps "$subject/ADD")+$(link_dumps "$subject/DEL")"
    for round in 1 2 3 4 5 6 7; do
        under_strace --seccomp-bpf -ttt -T -e trace=execve,sendto,sendmsg || return
        for verb in ADD DEL; do first_message $verb >> "$subject/first.$verb"; done
    done
    printf '%s+%s\n' "$(median < "$subject/first.ADD")" "$(median < "$subject/first.DEL")"
}

# counts: one attachment of each subject, by itself.
counts() {
    printf '\n%s: counts, ADD + DEL\n' "$title"
    {
        printf 'program\tsystem calls\tmessages\tmoves\tVF queries\tlink dumps\tus to 1st msg\n'
        for subject in "${subjects[@]}"; do count_subject || exit; done
    } > "$scene/counts" || return
    aligned < "$scene/counts"
}

# rounds N: the table of times.
rounds() {
    "$measure" "$1" "${subjects[@]}" > "$scene/times" || { tail -n 5 "$scene"/*/output >&2; return 1; }
    printf '\n%s: median of %d interleaved rounds\n' "$title" "$1"
    {
        printf 'program\tADD ms\tDEL ms\tADD+DEL ms\tx floor\tCPU us\tpage faults\n'
        [ "$attachments" -gt 1 ] || messages_alone
        awk '{ printf "%s\t%.1f\t%.1f\t%.1f\t%.2f\t%d+%d\t%d+%d\n", $1, $2 / 1e3, $3 / 1e3, $4 / 1e3, $5, $6, $7, $8, $9 }' "$scene/times"
    } | aligned
}
# What the kernel spent on the floor's messages, which is that line without its process.
messages_alone() {
    local add del
    add=$(awk '/^ADD/ { print $2 / 1e6 }' "${subjects[0]}/output" | median)
    del=$(awk '/^DEL/ { print $2 / 1e6 }' "${subjects[0]}/output" | median)
    awk -v a="$add" -v d="$del" 'BEGIN { printf "(its messages)\t%.1f\t%.1f\t%.1f\t\t\t\n", a, d, a + d }'
}
aligned() { awk -F '\t' '{ printf "  %-16s", $1; for (i = 2; i <= NF; i++) printf "%15s", $i; print "" }'; }
