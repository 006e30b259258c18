{{/* What the pods of workers, of verify and of the test share: (dict "root" "component"). */}}
{{- define "ares-worker.podSpec" -}}
{{- $values := .root.Values -}}
serviceAccountName: {{ include "ares-worker.serviceAccountName" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- toYaml $values.podSecurityContext | nindent 2 }}
{{- with $values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A claim that one node may mount: put the pod where the worker is. */}}
{{- define "ares-worker.besideWorker" -}}
{{- if and .Values.persistence.enabled (not (include "ares-worker.shared" .)) -}}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "ares-worker.workerLabels" . | nindent 12 }}
{{- end -}}
{{- end -}}

{{/* The container of all three: (dict "root" "name" "args" "resources" "readOnly"). */}}
{{- define "ares-worker.container" -}}
{{- $root := .root -}}
{{- $values := .root.Values -}}
name: {{ .name }}
image: {{ include "ares-worker.image" $root | quote }}
imagePullPolicy: {{ $values.image.pullPolicy }}
args:
  {{- toYaml .args | nindent 2 }}
securityContext:
  {{- toYaml $values.securityContext | nindent 2 }}
env:
  {{- include "ares-worker.env" $root | nindent 2 }}
{{- with $values.extraEnvFrom }}
envFrom:
  {{- tpl (toYaml .) $root | nindent 2 }}
{{- end }}
resources:
  {{- toYaml .resources | nindent 2 }}
volumeMounts:
  - name: tmp
    mountPath: /tmp
  - name: config
    mountPath: /etc/ares-worker/config
    readOnly: true
  - name: redis
    mountPath: /etc/ares-worker/redis
    readOnly: true
  {{- if $values.redis.tls.existingSecret }}
  - name: redis-tls
    mountPath: /etc/ares-worker/tls
    readOnly: true
  {{- end }}
  - name: archive
    mountPath: {{ $values.persistence.mountPath }}
    {{- with $values.persistence.subPath }}
    subPath: {{ . }}
    {{- end }}
    {{- if .readOnly }}
    readOnly: true
    {{- end }}
  {{- with $values.extraVolumeMounts }}
  {{- tpl (toYaml .) $root | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Secrets reach the worker as files, so that neither `kubectl describe` nor /proc shows them. */}}
{{- define "ares-worker.env" -}}
{{- $redis := .Values.redis -}}
{{- $keys := include "ares-worker.secretKeys" . | fromJson -}}
- name: ARES_CONFIG
  value: /etc/ares-worker/config/config.toml
- name: ARES_REDIS_URL_FILE
  value: /etc/ares-worker/redis/url
{{- with $redis.username }}
- name: ARES_REDIS_USERNAME
  value: {{ . | quote }}
{{- end }}
{{- if or $keys.password $redis.password }}
- name: ARES_REDIS_PASSWORD_FILE
  value: /etc/ares-worker/redis/password
{{- end }}
{{- with $redis.sentinelUsername }}
- name: ARES_REDIS_SENTINEL_USERNAME
  value: {{ . | quote }}
{{- end }}
{{- if or $keys.sentinelPassword $redis.sentinelPassword }}
- name: ARES_REDIS_SENTINEL_PASSWORD_FILE
  value: /etc/ares-worker/redis/sentinel-password
{{- end }}
{{- if $redis.tls.existingSecret }}
{{- range $name, $key := dict "CA" $redis.tls.caKey "CERT" $redis.tls.certKey "KEY" $redis.tls.keyKey }}
{{- if $key }}
- name: ARES_REDIS_TLS_{{ $name }}
  value: /etc/ares-worker/tls/{{ $key }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ tpl (toYaml .) $ }}
{{- end }}
{{- end -}}

{{- define "ares-worker.volumes" -}}
{{- $keys := include "ares-worker.secretKeys" . | fromJson -}}
{{- $files := dict "url" "url" "password" "password" "sentinelPassword" "sentinel-password" -}}
- name: tmp
  emptyDir:
    sizeLimit: {{ .Values.tmpSizeLimit }}
- name: config
  configMap:
    name: {{ include "ares-worker.suffixed" (list . "config" 63) }}
- name: redis
  projected:
    defaultMode: 0440
    sources:
      {{- if include "ares-worker.secretData" . }}
      - secret:
          name: {{ include "ares-worker.suffixed" (list . "redis" 63) }}
      {{- end }}
      {{- if $keys }}
      - secret:
          name: {{ .Values.redis.existingSecret }}
          items:
            {{- range $name, $key := $keys }}
            - key: {{ $key }}
              path: {{ get $files $name }}
            {{- end }}
      {{- end }}
{{- with .Values.redis.tls }}
{{- if .existingSecret }}
- name: redis-tls
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
{{- end }}
{{- end }}
- name: archive
  {{- if .Values.persistence.enabled }}
  persistentVolumeClaim:
    claimName: {{ include "ares-worker.claimName" . }}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- with .Values.extraVolumes }}
{{ tpl (toYaml .) $ }}
{{- end }}
{{- end -}}
