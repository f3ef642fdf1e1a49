# The node is rebooted in order while pods have devices: kubelet, the containers and containerd are stopped.
down=node_ends
. "$here/scenarios/power.sh"
