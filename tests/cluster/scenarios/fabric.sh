# The test of the fabric: two pods measure each other, and none is left when it has ended, was interrupted or could not begin.
if [ "$LAB_KERNEL" != 7 ]; then
    skip 'Soft-RoCE before Linux 7 sends in the first namespace alone: --kernel 7'
    return
fi
kube=build/release/bin/vfrail-kube
ends_without_pods=yes
explained_here="^kubelet\.log: .*no-such-image:1"
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
# test_fabric [OPTION...]: between two pods of the one node, or of both.
between=$NODE,$NODE
[ "$NODES" = 1 ] || between=$NODE,$(of_node 2 eval 'echo "$NODE"')
test_fabric() { "$kube" test --nodes "$between" --seconds 1 --wait 600 "$@"; }
test_pods() { kubectl get pods -A -l app.kubernetes.io/name!=vfrail -o name; }
no_pods() { is '' test_pods; }

section 'measured'
check 'it ends with status 0' bash -c '"$@" > "$0" 2> "$0.said"' "$work/matrix" "$kube" test --nodes "$between" --seconds 1 --wait 600
sed 's/^/     /' "$work/matrix.said" "$work/matrix"
check 'no pod is left' no_pods
test_fabric --output json > "$work/matrix.json" 2> /dev/null
check 'as JSON: both ways have a bandwidth' jq -e '(.paths | map([.from, .to]) | sort) == [[0, 1], [1, 0]] and (.paths | all(.gbits > 0))' "$work/matrix.json"
check 'and round trips' jq -e '.paths | all(.round_trip_us > 0)' "$work/matrix.json"
check 'no pod is left' no_pods

section 'interrupted'
"$kube" test --nodes "$between" --seconds 60 --wait 600 > "$work/interrupted" 2>&1 &
testing=$!
check 'the pods measure' eventually has '^round 1 of 1' cat "$work/interrupted"
kill -INT $testing
wait $testing
check 'its status is 1' is 1 echo $?
check 'it says that it was interrupted' has 'interrupted; the pods of the test are deleted' cat "$work/interrupted"
check 'no pod is left' no_pods

section 'an image that there is not'
check 'it ends with status 1' is 1 bash -c '"$@" > "$0" 2>&1; echo $?' "$work/no-image" "$kube" test --nodes "$between" --seconds 1 \
    --wait 600 --image registry.invalid/no-such-image:1
check 'the image is named' has 'no-such-image:1' cat "$work/no-image"
check 'no pod is left' no_pods
