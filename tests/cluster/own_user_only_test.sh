#!/usr/bin/env bash
# Tests of tests/cluster/own_user_only, and of is_ours of node.sh: who is let through on the loopback. Seconds.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/support/checks.sh
. <(sed -n '/^is_ours() {/,/^}/p' tests/cluster/node.sh)
number=1    # the node of which is_ours speaks: node_variables of node.sh
tmp=$(mktemp -d)
trap 'kill "$server" "$way" 2> /dev/null; rm -rf "$tmp"; checks_end' EXIT

# Answers each connection with what it was sent, in capitals.
perl -MIO::Socket::UNIX -e '
    my $listener = IO::Socket::UNIX->new(Local => shift, Listen => 9) or die;
    while (my $peer = $listener->accept) { while (<$peer>) { print $peer uc } }' "$tmp/socket" &
server=$!
port=$((21000 + $$ % 9000))
tests/cluster/own_user_only "$port" "$tmp/socket" 2> "$tmp/err" &
way=$!

ask() { "$@" bash -c "exec 3<> /dev/tcp/127.0.0.1/$port && echo words >&3 && timeout 60 head -n 1 <&3" 2>&1; }
check 'this user has an answer' eventually is WORDS ask
check 'again, and a long one' is 200000 bash -c "exec 3<> /dev/tcp/127.0.0.1/$port
    { head -c 199999 /dev/zero | tr '\0' x; echo; } >&3 & timeout 60 head -n 1 <&3 | wc -c"
check 'the port is of this user' is_ours "$port"
check 'another port is not' refused is_ours 1
number=2 check 'nor is the same port of the second node' refused is_ours "$port"
if [ "$EUID" = 0 ]; then
    other() { ask setpriv --reuid 65534 --clear-groups; }
    check 'another user has none' lacks WORDS eventually other
    check 'which the log has' has 'another user is refused' cat "$tmp/err"
    check 'and this user still has one' is WORDS ask
    setpriv --reuid 65534 --clear-groups perl -MIO::Socket::INET -e '
        my $taken = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => shift, Listen => 1) or die; sleep 600' $((port + 1)) &
    their=$!
    taken() { grep -qi "0100007F:$(printf '%04X' $((port + 1))) .* 0A " /proc/net/tcp; }
    check 'a port that another user has taken' eventually taken
    check 'is not of this one' refused is_ours $((port + 1))
    kill "$their"
else
    echo 'who is not root cannot try it as another user'
fi
