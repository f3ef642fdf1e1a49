#!/usr/bin/env bash
# Tests of tests/lab/run itself: what it documents about status, output, programs and files. On the host, about two minutes.
#   tests/lab/run_test.sh
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB_BUILD=$(realpath -m "${LAB_BUILD:-$here/../../build/lab}")
export LAB_BUILD
"$here/build" || exit
. "$here/../support/checks.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"; checks_end' EXIT

# vm NAME OPTION... (the script comes on stdin): runs it, leaves NAME.out, NAME.err and NAME.status in $tmp.
vm() {
    local name=$1 rc=0
    shift
    { echo '#!/bin/bash'; cat; } > "$tmp/$name.sh"
    "$here/run" --name "test-$name" "$@" "$tmp/$name.sh" 'two words' '$HOME' "it's" > "$tmp/$name.out" 2> "$tmp/$name.err" || rc=$?
    echo $rc > "$tmp/$name.status"
}
status() { cat "$tmp/$1.status"; }

# A dynamically linked C++ program, and a library that only it needs.
mkdir "$tmp/far"
echo '#include <string>
std::string greeting() { return "hello from afar"; }' | g++ -shared -fPIC -x c++ - -o "$tmp/far/libafar.so"
echo '#include <iostream>
#include <string>
std::string greeting();
int main() { std::cout << greeting() << std::endl; }' |
    g++ -x c++ - -o "$tmp/hello" -L"$tmp/far" -lafar -Wl,-rpath,"$tmp/far"
echo content > "$tmp/file with blank"
mkdir "$tmp/folder"
echo inside > "$tmp/folder/file"

# Two VMs at a time: that they do not disturb each other is part of that.
vm ends --program "$tmp/hello" --file "$tmp/file with blank" --file "$tmp/folder" << 'END' &
echo "arguments:$(printf ' <%s>' "$@")"
echo "to stderr" >&2
echo "reopened" > /dev/stderr
env -i /usr/local/bin/hello
cat "/host/files/file with blank" /host/files/folder/file
echo made > /host/made
sleep 1000 &                    # must not keep the VM from ending
exit 7
END
vm dies << 'END' &
echo "last words"
sleep 0.5
echo c > /proc/sysrq-trigger
sleep 100
END
wait

check 'the status of the script'        is 7 status ends
check 'its output, both streams'        is "arguments: <two words> <\$HOME> <it's>
to stderr
reopened
hello from afar
content
inside" cat "$tmp/ends.out"
check 'output is kept'                  cmp "$tmp/ends.out" "$LAB_BUILD/runs/test-ends/out/log"
check 'kernel messages are kept'        grep -q 'Linux version' "$LAB_BUILD/runs/test-ends/out/dmesg"
check 'the VM can write to the share'   is made cat "$LAB_BUILD/runs/test-ends/made"
check 'a panic is 126'                  is 126 status dies
check 'what came before it is printed'  is 'last words' cat "$tmp/dies.out"
check 'the panic is on the console'     grep -q 'Kernel panic' "$LAB_BUILD/runs/test-dies/out/console"

vm hangs --limit 60 <<< 'echo begin; sleep 1000' &
until [ -s "$tmp/hangs.out" ] || [ -e "$tmp/hangs.status" ]; do sleep 0.1; done
check 'output comes while it runs'      test -s "$tmp/hangs.out" -a ! -e "$tmp/hangs.status"
rc=0
"$here/run" --name test-hangs "$tmp/hangs.sh" 2> /dev/null || rc=$?
check 'the same name twice is refused'  is 2 echo "$rc"
vm shared --pfs 3 << 'END' &
. /lab/lib.sh
lab_up 1 --rdma shared
check 'three PFs'   is $'0000:21:00.0\n0000:22:00.0\n0000:41:00.0' pfs
check 'shared mode' has 'netns shared' rdma system
check 'wrong'       false
END
wait
check 'out of time is 124'              is 124 status hangs
check 'it says what each CPU was doing' grep -q 'NMI backtrace for cpu 1' "$tmp/hangs.err"
check 'and what was in its registers'   grep -q 'RIP=' "$LAB_BUILD/runs/test-hangs/out/cpus"
check 'a failed check is status 1'      is 1 status shared
check 'and is counted'                  is '2 passed, 1 failed' tail -n 1 "$tmp/shared.out"

vm qemu --qemu -no-such-argument <<< true
check 'QEMU in trouble is 125'          is 125 status qemu
check 'after four tries'                is 4 grep -c 'QEMU ended' "$tmp/qemu.err"
vm frozen --boot 3 --qemu -S <<< true
check 'a VM that does not come up is 123' is 123 status frozen
check 'after four boots'                is 4 grep -c 'did not come up' "$tmp/frozen.err"
