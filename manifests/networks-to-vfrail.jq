# Changes network definitions of host-device, sriov-cni and ib-sriov-cni to vfrail; see MIGRATION.md.
#   kubectl get network-attachment-definitions --all-namespaces -o json | jq -f networks-to-vfrail.jq
# A chained rdma-cni is removed, because vfrail moves the RDMA device itself; vfrail then requires one, as rdma-cni does.
# Everything else stays as it is, definitions of other plugins and those without a configuration included.
def attaches: IN(.type; "host-device", "sriov", "ib-sriov");
def replaced: if attaches then .type = "vfrail" else . end;
def replaced_with_rdma: if attaches then .type = "vfrail" | .rdma = "require" else . end;
def chain:
    if any(.plugins[]; attaches) | not then .
    elif any(.plugins[]; .type == "rdma") then .plugins |= map(select(.type != "rdma") | replaced_with_rdma)
    else .plugins |= map(replaced) end;
.items |= map(if (.spec.config // "") == "" then .
              else .spec.config |= (fromjson | if has("plugins") then chain else replaced end | tojson) end)
