# Changes network definitions of host-device, sriov-cni and ib-sriov-cni to vfrail; see MIGRATION.md.
#   kubectl get network-attachment-definitions --all-namespaces -o json | jq -f networks-to-vfrail.jq
# A chained rdma-cni is removed, because vfrail moves the RDMA device itself. Everything else stays as it is, definitions
# of other plugins and those without a configuration included.
def replaced: if IN(.type; "host-device", "sriov", "ib-sriov") then .type = "vfrail" else . end;
def attaches: any(.plugins[]; IN(.type; "host-device", "sriov", "ib-sriov"));
def chain: if attaches then .plugins |= map(select(.type != "rdma") | replaced) else . end;
.items |= map(if (.spec.config // "") == "" then .
              else .spec.config |= (fromjson | if has("plugins") then chain else replaced end | tojson) end)
