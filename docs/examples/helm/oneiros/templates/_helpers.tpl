{{- define "oneiros.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "oneiros.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "oneiros.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "oneiros.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "oneiros.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "oneiros.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "oneiros.labels" -}}
{{ include "oneiros.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "oneiros.selector" -}}
app.kubernetes.io/name: {{ include "oneiros.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The image, of {root, tag, digest}. */}}
{{- define "oneiros.image" -}}
{{- $image := .root.Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" $image.repository .digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .root.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}

{{/* The build of this release's workers. */}}
{{- define "oneiros.build" -}}
{{- .Values.worker.versioning.buildID | default .Values.image.tag | default .Chart.AppVersion -}}
{{- end -}}

{{/* What a build's Deployment is called, of {root, buildID}: what a name may hold of its id, and a hash, since ids that
     begin alike must not meet. */}}
{{- define "oneiros.workerName" -}}
{{- $worker := printf "%s-worker" (include "oneiros.fullname" .root) -}}
{{- $slug := regexReplaceAll "[^a-z0-9]+" (lower .buildID) "-" | trimAll "-" | trunc (min 20 (sub 53 (len $worker)) | int) -}}
{{- printf "%s-%s-%s" $worker ($slug | trimSuffix "-") (sha256sum .buildID | trunc 8) -}}
{{- end -}}

{{- define "oneiros.secretsDir" -}}/run/secrets/oneiros{{- end -}}

{{/* What the chart sets by itself, with where to say it instead. */}}
{{- define "oneiros.refuse" -}}
{{- $set := dict
  "data_dir" "an emptyDir is mounted there"
  "serve.listen" "server.service says where clients connect"
  "serve.keys" "a server in a cluster always requires keys"
  "serve.grace" "use server.graceSeconds"
  "serve.tls_cert" "use secrets.serverTLS"
  "serve.tls_key" "use secrets.serverTLS"
  "metrics.listen" "metrics are served at port 7413"
  "worker.stop_within" "use worker.drainSeconds"
  "worker.deployment" "use worker.versioning.deployment"
  "worker.build_id" "use worker.versioning.buildID"
  "temporal.child" "the chart is for a cluster of your own"
  "temporal.api_key_file" "use secrets.temporalAPIKey"
  "store.path" "a file has no place where several pods work; use config.store.url"
  "store.password_file" "use secrets.redisPassword"
  "store.sentinel.password_file" "use secrets.sentinelPassword"
  "seal.keys_file" "use secrets.sealKeys"
  "rooms.webhook_key_file" "use secrets.webhookKey" -}}
{{- range $path, $instead := $set -}}
{{- $at := $.Values.config -}}
{{- range $part := splitList "." $path -}}
{{- if kindIs "map" $at -}}{{- $at = get $at $part -}}{{- else -}}{{- $at = "" -}}{{- end -}}
{{- end -}}
{{- if not (or (kindIs "invalid" $at) (eq (toString $at) "")) -}}
{{- fail (printf "config.%s is set by the chart: %s" $path $instead) -}}
{{- end -}}
{{- end -}}
{{- if regexMatch "^[a-z]+://[^/@]*:[^/@]*@" .Values.config.store.url -}}
{{- fail "config.store.url holds a password, which a ConfigMap would show: name its Secret in secrets.redisPassword" -}}
{{- end -}}
{{- $secrets := .Values.secrets -}}
{{- range $kind := list "providers" "hooks" -}}
{{- range $name, $ref := get $secrets $kind -}}
{{- if not (hasKey (default dict (get $.Values.config $kind)) $name) -}}
{{- fail (printf "secrets.%s.%s names a Secret for config.%s.%s, which is not there" $kind $name $kind $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Paths of a Secret with certificates, as settings: {root, ref, dir}. */}}
{{- define "oneiros.tls" -}}
{{- $dir := printf "%s/%s" (include "oneiros.secretsDir" .root) .dir -}}
{{- if .ref.ca }}
ca_file: {{ $dir }}/ca
{{- end }}
{{- if .ref.cert }}
cert_file: {{ $dir }}/cert
key_file: {{ $dir }}/key
{{- end }}
{{- end -}}

{{/* oneiros.yaml: the user's, and what the chart adds. */}}
{{- define "oneiros.config" -}}
{{- include "oneiros.refuse" . -}}
{{- $dir := include "oneiros.secretsDir" . -}}
{{- $s := .Values.secrets -}}
{{- $c := deepCopy .Values.config -}}
{{- $store := dict -}}
{{- if $s.redisPassword.name }}{{ $_ := set $store "password_file" (printf "%s/redis-password" $dir) }}{{ end -}}
{{- if $s.sentinelPassword.name -}}
{{- $_ := set $store "sentinel" (dict "password_file" (printf "%s/sentinel-password" $dir)) -}}
{{- end -}}
{{- if $s.redisTLS.name -}}
{{- $_ := set $store "tls" (include "oneiros.tls" (dict "root" . "ref" $s.redisTLS "dir" "redis-tls") | fromYaml) -}}
{{- end -}}
{{- $temporal := dict "child" "never" -}}
{{- if $s.temporalAPIKey.name }}{{ $_ := set $temporal "api_key_file" (printf "%s/temporal-api-key" $dir) }}{{ end -}}
{{- if $s.temporalTLS.name -}}
{{- $_ := set $temporal "tls" (include "oneiros.tls" (dict "root" . "ref" $s.temporalTLS "dir" "temporal-tls") | fromYaml) -}}
{{- end -}}
{{- $serve := dict "grace" (printf "%ds" (int .Values.server.graceSeconds)) -}}
{{- if not (dig "serve" "hosts" "" $c) }}{{ $_ := set $serve "hosts" (include "oneiros.hosts" .) }}{{ end -}}
{{- if $s.serverTLS.name -}}
{{- $_ := set $serve "tls_cert" (printf "%s/server-tls/cert" $dir) -}}
{{- $_ := set $serve "tls_key" (printf "%s/server-tls/key" $dir) -}}
{{- end -}}
{{- $own := dict "store" $store "temporal" $temporal "serve" $serve -}}
{{- $_ := set $own "worker" (dict "stop_within" (printf "%ds" (int .Values.worker.drainSeconds))) -}}
{{- if $s.sealKeys.name }}{{ $_ := set $own "seal" (dict "keys_file" (printf "%s/seal-keys" $dir)) }}{{ end -}}
{{/* Without the Secret each pod would make a key of its own, which ends with it: the path of a file that is not there
     makes every webhook an error that names the value. */}}
{{- $webhookKey := ternary (printf "%s/webhook-key" $dir) "/etc/oneiros/secrets.webhookKey-is-not-set" (ne $s.webhookKey.name "") -}}
{{- $_ := set $own "rooms" (dict "webhook_key_file" $webhookKey) -}}
{{- range $name, $ref := $s.providers -}}
{{- $_ := set (get $c.providers $name) "api_key_file" (printf "%s/providers/%s" $dir $name) -}}
{{- end -}}
{{- range $name, $ref := $s.hooks -}}
{{- $_ := set (get $c.hooks $name) "secret_file" (printf "%s/hooks/%s" $dir $name) -}}
{{- end -}}
{{- mergeOverwrite $c $own | toYaml -}}
{{- end -}}

{{/* The names under which clients reach the server. */}}
{{- define "oneiros.hosts" -}}
{{- $service := printf "%s-server" (include "oneiros.fullname" .) -}}
{{- $inside := list $service (printf "%s.%s" $service .Release.Namespace) (printf "%s.%s.svc" $service .Release.Namespace) -}}
{{- concat $inside .Values.ingress.hosts | join ", " -}}
{{- end -}}

{{/* The secrets, as sources of one projected volume. */}}
{{- define "oneiros.secretSources" -}}
{{- $s := .Values.secrets -}}
{{- range $ref := list
  (dict "s" $s.redisPassword "path" "redis-password")
  (dict "s" $s.sentinelPassword "path" "sentinel-password")
  (dict "s" $s.temporalAPIKey "path" "temporal-api-key")
  (dict "s" $s.sealKeys "path" "seal-keys")
  (dict "s" $s.webhookKey "path" "webhook-key") }}
{{- if $ref.s.name }}
- secret:
    name: {{ $ref.s.name }}
    items: [{key: {{ $ref.s.key | quote }}, path: {{ $ref.path }}}]
{{- end }}
{{- end }}
{{- range $kind := list "providers" "hooks" }}
{{- range $name, $ref := get $s $kind }}
- secret:
    name: {{ $ref.name }}
    items: [{key: {{ $ref.key | quote }}, path: {{ $kind }}/{{ $name }}}]
{{- end }}
{{- end }}
{{- range $dir, $ref := dict "redis-tls" $s.redisTLS "temporal-tls" $s.temporalTLS "server-tls" $s.serverTLS }}
{{- if $ref.name }}
- secret:
    name: {{ $ref.name }}
    items:
      {{- if $ref.ca }}
      - {key: {{ $ref.ca | quote }}, path: {{ $dir }}/ca}
      {{- end }}
      {{- if $ref.cert }}
      - {key: {{ $ref.cert | quote }}, path: {{ $dir }}/cert}
      - {key: {{ $ref.key | quote }}, path: {{ $dir }}/key}
      {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What all pods have in common: no rights, no token, nothing of the node. */}}
{{- define "oneiros.podSecurity" -}}
serviceAccountName: {{ include "oneiros.serviceAccount" . }}
automountServiceAccountToken: false
enableServiceLinks: false     # its variables would begin as those of the configuration do
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* Image, environment and mounts of a container: {root, tag, digest}. */}}
{{- define "oneiros.container" -}}
image: {{ include "oneiros.image" . | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: config, mountPath: /etc/oneiros, readOnly: true}
  - {name: data, mountPath: /var/lib/oneiros}
  - {name: tmp, mountPath: /tmp}
  {{- if include "oneiros.secretSources" .root }}
  - {name: secrets, mountPath: {{ include "oneiros.secretsDir" .root }}, readOnly: true}
  {{- end }}
  {{- with .root.Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "oneiros.env" -}}
- {name: ONEIROS_CONFIG, value: /etc/oneiros/oneiros.yaml}
- {name: ONEIROS_DATA_DIR, value: /var/lib/oneiros}
- {name: ONEIROS_SERVE_LISTEN, value: ":7680"}
- {name: ONEIROS_SERVE_KEYS, value: required}
- {name: ONEIROS_METRICS_LISTEN, value: ":7413"}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "oneiros.volumes" -}}
- name: config
  configMap: {name: {{ include "oneiros.fullname" . }}}
- name: data
  emptyDir: {sizeLimit: 256Mi}
- name: tmp
  emptyDir: {sizeLimit: 256Mi}
{{- with include "oneiros.secretSources" . }}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- . | trim | nindent 6 }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Where pods may run: {root, part, labels}. */}}
{{- define "oneiros.placement" -}}
{{- if .root.Values.topologySpread.enabled }}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: {{ $.root.Values.topologySpread.whenUnsatisfiable }}
    labelSelector:
      matchLabels:
        {{- $.labels | nindent 8 }}
  {{- end }}
{{- end }}
{{- with .part.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}
