{{/* A HorizontalPodAutoscaler: {root, part, name, component}. */}}
{{- define "oneiros.autoscaler" -}}
{{- $scaling := .part.autoscaling -}}
{{- if gt (int $scaling.min) (int $scaling.max) -}}
{{- fail (printf "%s.autoscaling.min is %d, which is above its max of %d" .component (int $scaling.min) (int $scaling.max)) -}}
{{- end -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ .name }}
  labels:
    {{- include "oneiros.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ .name }}}
  minReplicas: {{ $scaling.min }}
  maxReplicas: {{ $scaling.max }}
  metrics:
    {{- if $scaling.cpu }}
    - type: Resource
      resource:
        name: cpu
        target: {type: Utilization, averageUtilization: {{ $scaling.cpu }}}
    {{- end }}
    {{- with $scaling.metrics }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $scaling.behavior }}
  behavior:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* A PodDisruptionBudget: {root, part, component}. */}}
{{- define "oneiros.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "oneiros.fullname" .root }}-{{ .component }}
  labels:
    {{- include "oneiros.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  maxUnavailable: {{ .part.disruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "oneiros.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
{{- end -}}
