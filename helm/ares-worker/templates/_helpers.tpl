{{/* Names. The chart's own name is in selectors and in the claim's name; overrides change neither:
selectors are immutable, and a renamed claim would leave the archive behind. */}}
{{- define "ares-worker.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- include "ares-worker.releaseName" (dict "root" . "name" (default .Chart.Name .Values.nameOverride)) -}}
{{- end -}}
{{- end -}}

{{- define "ares-worker.releaseName" -}}
{{- $release := .root.Release.Name -}}
{{- ternary $release (printf "%s-%s" $release .name) (contains .name $release) | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Name with a suffix, cut so that the suffix survives: (list root suffix limit). */}}
{{- define "ares-worker.suffixed" -}}
{{- $room := int (sub (index . 2) (add1 (len (index . 1)))) -}}
{{- printf "%s-%s" (include "ares-worker.fullname" (index . 0) | trunc $room | trimSuffix "-") (index . 1) -}}
{{- end -}}

{{- define "ares-worker.claimName" -}}
{{- if .Values.persistence.existingClaim -}}
{{- .Values.persistence.existingClaim -}}
{{- else -}}
{{- include "ares-worker.releaseName" (dict "root" . "name" .Chart.Name) | trunc 55 | trimSuffix "-" }}-archive
{{- end -}}
{{- end -}}

{{- define "ares-worker.serviceAccountName" -}}
{{- $made := .Values.serviceAccount.create | ternary (include "ares-worker.fullname" .) "default" -}}
{{- default $made .Values.serviceAccount.name -}}
{{- end -}}

{{/* Labels. Only these three ever select pods. */}}
{{- define "ares-worker.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name | trunc 63 }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ares-worker.workerLabels" -}}
{{ include "ares-worker.selectorLabels" . }}
app.kubernetes.io/component: worker
{{- end -}}

{{/* Labels of a pod: (list root component). Without the chart's version: a release that changes
nothing else about a pod doesn't restart it. */}}
{{- define "ares-worker.podLabels" -}}
{{- $root := index . 0 -}}
{{ include "ares-worker.selectorLabels" $root }}
app.kubernetes.io/component: {{ index . 1 }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels of an object: (list root component). */}}
{{- define "ares-worker.labels" -}}
{{- $chart := (index . 0).Chart -}}
{{ include "ares-worker.podLabels" . }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $chart.Name $chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* Head of an object's metadata: (dict "root" "name" "component" and, optional, "labels"
"annotations" "namespace"). */}}
{{- define "ares-worker.metadata" -}}
name: {{ .name }}
namespace: {{ default .root.Release.Namespace .namespace }}
labels:
  {{- include "ares-worker.labels" (list .root .component) | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with mergeOverwrite (deepCopy .root.Values.commonAnnotations) (default dict .annotations) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "ares-worker.image" -}}
{{- $image := .Values.image -}}
{{- $name := ternary (printf "%s/%s" $image.registry $image.repository) $image.repository (ne $image.registry "") -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Facts that several templates ask for; "true" or empty. */}}
{{- define "ares-worker.scaled" -}}
{{- if or .Values.autoscaling.enabled .Values.keda.enabled -}}true{{- end -}}
{{- end -}}

{{- define "ares-worker.severalPods" -}}
{{- if or (include "ares-worker.scaled" .) (gt (int .Values.replicas) 1) -}}true{{- end -}}
{{- end -}}

{{- define "ares-worker.shared" -}}
{{- if has "ReadWriteMany" .Values.persistence.accessModes -}}true{{- end -}}
{{- end -}}

{{/* Seconds of a duration as the settings write it: 500ms, 30s, 5m, 12h, 7d, or a number. */}}
{{- define "ares-worker.seconds" -}}
{{- $text := toString . | lower -}}
{{- $unit := regexFind "[a-z]+$" $text | default "s" -}}
{{- $factors := dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0 "d" 86400.0 "w" 604800.0 -}}
{{- mulf (regexFind "^[0-9.]+" $text | float64) (get $factors $unit) -}}
{{- end -}}

{{/* Keys of the existing Secret that are in use: url, password, sentinelPassword. */}}
{{- define "ares-worker.secretKeys" -}}
{{- $keys := dict -}}
{{- if .Values.redis.existingSecret -}}
{{- range $name, $key := .Values.redis.existingSecretKeys -}}
{{- if $key -}}{{- $_ := set $keys $name $key -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $keys -}}
{{- end -}}

{{/* Ports of Redis and its sentinels, from the value or read off the URL. */}}
{{- define "ares-worker.redisPorts" -}}
{{- $ports := .Values.networkPolicy.redis.ports -}}
{{- if not $ports -}}
{{- $url := default "" .Values.redis.url -}}
{{- $hosts := regexReplaceAll "^[a-z+]+://([^/?]*@)?([^/?]*).*$" $url "${2}" -}}
{{- $default := contains "sentinel" (regexFind "^[a-z+]+" $url) | ternary 26379 6379 -}}
{{- range splitList "," $hosts -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" . | trimPrefix ":" | default (toString $default) | int) -}}
{{- end -}}
{{- if eq $default 26379 -}}{{- $ports = append $ports 6379 -}}{{- end -}}
{{- end -}}
{{- uniq $ports | toJson -}}
{{- end -}}
