{{- define "vfrail.image" -}}
{{- with .Values.image -}}
{{- with .registry }}{{ . }}/{{ end -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{- /* Of the objects. Two releases in a namespace, one for each kind of nodes, have two. */ -}}
{{- define "vfrail.name" -}}
{{ .Values.nameOverride | default .Release.Name }}
{{- end -}}

{{- define "vfrail.configMap" -}}
{{ .Values.existingConfigMap | default (printf "%s-config" (include "vfrail.name" .)) }}
{{- end -}}

{{- /* Of the DaemonSet, which cannot change it: its own pods, and not those of another release. */ -}}
{{- define "vfrail.selector" -}}
app.kubernetes.io/name: vfrail
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "vfrail.labels" -}}
{{ include "vfrail.selector" . }}
app.kubernetes.io/component: device-plugin
{{- end -}}

{{- /* Of the controller's pods, by another name: the plugin's metrics and NetworkPolicy are for the plugin's pods alone. */ -}}
{{- define "vfrail.controllerSelector" -}}
app.kubernetes.io/name: vfrail-controller
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "vfrail.controllerLabels" -}}
{{ include "vfrail.controllerSelector" . }}
app.kubernetes.io/component: controller
{{- end -}}

{{- /* Of the pods that make VFs. */ -}}
{{- define "vfrail.provisionSelector" -}}
app.kubernetes.io/name: vfrail-provision
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "vfrail.provisionLabels" -}}
{{ include "vfrail.provisionSelector" . }}
app.kubernetes.io/component: provision
{{- end -}}

{{- /* Whether the CustomResourceDefinition of a kind of the controller's networks comes with this release; of it a dictionary: root,
plural. One that is there and is not this release's, network-operator's, is left alone: Helm would refuse to install. */ -}}
{{- define "vfrail.installsNetworkKind" -}}
{{- if and .root.Values.controller.enabled (not .root.Values.uninstall) -}}
{{- $there := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" (printf "%s.mellanox.com" .plural) | default dict -}}
{{- $owner := ($there.metadata | default dict).annotations | default dict -}}
{{- $ours := and (eq (get $owner "meta.helm.sh/release-name") .root.Release.Name) (eq (get $owner "meta.helm.sh/release-namespace") .root.Release.Namespace) -}}
{{- or (empty $there) $ours -}}
{{- end -}}
{{- end -}}

{{- define "vfrail.serviceAccount" -}}
{{ .Values.serviceAccount.name | default ((or .Values.openshift.enabled .Values.serviceAccount.create .Values.dra.enabled .Values.events.enabled) | ternary (include "vfrail.name" .) "") }}
{{- end -}}

{{- /* An init container that installs vfrail-cni; of it a dictionary: root, name (its own), as (the executable's). */ -}}
{{- define "vfrail.installer" -}}
- name: {{ .name }}
  image: {{ include "vfrail.image" .root }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  command: {{ concat (list "/usr/libexec/cni/vfrail-cni" "install") (.as | empty | ternary (list "--check" "/usr/bin/vfrail-check") (list "--as" .as)) (list (printf "/host%s" .root.Values.cni.binDir)) | toJson }}
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    {{- with .root.Values.seLinuxOptions }}
    seLinuxOptions: {{ toJson . }}
    {{- end }}
    capabilities:
      drop: [ALL]
      add:
        # Installers (kubespray, the CNI plugins' release archive) leave /opt/cni/bin to another user, mode
        # 0755; root without this capability cannot create a file there. It gives nothing beyond that folder:
        # the container has no other host path.
        - DAC_OVERRIDE
  resources:
    requests: {cpu: 10m, memory: 16Mi}
    limits: {memory: 64Mi}
  terminationMessagePolicy: FallbackToLogsOnError
  volumeMounts:
    - name: cni-bin
      mountPath: /host{{ .root.Values.cni.binDir }}
{{- end -}}

{{- /* The address of metrics and probes: the pod's; with hostNetwork the node's loopback, or with metrics.nodeAddress its
own, in brackets because it may be IPv6. */ -}}
{{- define "vfrail.listens" -}}
{{- if .Values.hostNetwork }}{{ .Values.metrics.nodeAddress | ternary "[$(NODE_ADDRESS)]" "127.0.0.1" }}{{ end -}}
{{- end -}}

{{- /* Kubelet asks at the pod's address unless it is given another: it is on the same node. */ -}}
{{- define "vfrail.probe" -}}
{path: {{ .path }}, port: metrics{{ if eq (include "vfrail.listens" .root) "127.0.0.1" }}, host: 127.0.0.1{{ end }}}
{{- end -}}

{{- define "vfrail.nodes" -}}
{{- $label := get (dict "none" "" "sriov" "network-sriov.capable" "rdma" "rdma.available" "nvidia" "pci-15b3.present") .Values.nodes.preset -}}
nodeSelector:
  kubernetes.io/os: linux
  {{- with $label }}
  feature.node.kubernetes.io/{{ . }}: "true"
  {{- end }}
  {{- with .Values.nodes.selector }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- /* A node must fit one of the terms, so each of the user's has the architectures, too. */}}
{{- $affinity := deepCopy .Values.affinity }}
{{- $node := $affinity.nodeAffinity | default dict }}
{{- $required := $node.requiredDuringSchedulingIgnoredDuringExecution | default dict }}
{{- $arch := dict "key" "kubernetes.io/arch" "operator" "In" "values" .Values.nodes.arch }}
{{- $terms := list }}
{{- range $required.nodeSelectorTerms | default (list dict) }}
{{- $terms = append $terms (merge (dict "matchExpressions" (append (.matchExpressions | default list) $arch)) .) }}
{{- end }}
{{- $node = merge (dict "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms)) $node }}
affinity:
  {{- toYaml (merge (dict "nodeAffinity" $node) $affinity) | nindent 2 }}
{{- end -}}

{{- /* The folder of CDI specs, if it is another than the one that is emptied anyway, and if /run does not have it. */ -}}
{{- define "vfrail.ownCdi" -}}
{{- if not (has .Values.cdi.dir (list "/run/cdi" "/var/run/cdi")) }}{{ .Values.cdi.dir }}{{ end -}}
{{- end -}}
{{- define "vfrail.cdiBesideRun" -}}
{{- if not (regexMatch "^(/var)?/run/" .Values.cdi.dir) }}{{ .Values.cdi.dir }}{{ end -}}
{{- end -}}

{{- define "vfrail.uninstaller" -}}
image: {{ include "vfrail.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- $cdi := include "vfrail.ownCdi" .root }}
{{- $dra := .root.Values.dra.enabled | ternary (list "--kubelet-root" .root.Values.kubelet.root "--dra-driver" .root.Values.dra.driver) list }}
command: {{ concat (list "/usr/libexec/cni/vfrail-cni" "uninstall" "--root" "/host") ($cdi | empty | ternary list (list "--cdi-dir" $cdi)) $dra .arguments (list .root.Values.cni.binDir) | toJson }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  {{- with .root.Values.seLinuxOptions }}
  seLinuxOptions: {{ toJson . }}
  {{- end }}
  capabilities:
    drop: [ALL]
    add:
      # As to install: /opt/cni/bin may belong to a user other than root.
      - DAC_OVERRIDE
resources:
  requests: {cpu: 10m, memory: 16Mi}
  limits: {memory: 64Mi}
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
  - name: cni-bin
    mountPath: /host{{ .root.Values.cni.binDir }}
  - name: cni-state
    mountPath: /host/var/lib/cni
  - name: run
    mountPath: /host/run
{{- with include "vfrail.cdiBesideRun" .root }}
  - name: cdi
    mountPath: /host{{ . }}
{{- end }}
{{- if .root.Values.dra.enabled }}
  # Its folder and sockets of kubelet. HostToContainer: other drivers mount volumes below it, and what is unmounted on the node
  # must not stay in use here.
  - name: kubelet-plugins
    mountPath: /host{{ .root.Values.kubelet.root }}/plugins
    mountPropagation: HostToContainer
  - name: plugins-registry
    mountPath: /host{{ .root.Values.kubelet.root }}/plugins_registry
{{- end }}
{{- end -}}
