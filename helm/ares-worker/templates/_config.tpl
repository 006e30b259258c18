{{/* The settings file. Null means: the worker's own default. */}}
{{- define "ares-worker.toml" -}}
{{- $config := deepCopy .Values.config -}}
{{- if and $config.segments.enabled (not $config.segments.base) -}}
{{- $_ := set $config.segments "base" (printf "%s/segments" .Values.persistence.mountPath) -}}
{{- end -}}
tenants = {{ toJson $config.tenants }}
{{- range $section, $settings := omit $config "tenants" }}

[{{ $section }}]
{{- range $name, $value := $settings }}
{{- if not (kindIs "invalid" $value) }}
{{ $name }} = {{ include "ares-worker.scalar" $value }}
{{- end }}
{{- end }}
{{- end }}
{{ end -}}

{{/* Numbers come out of YAML as floats: 67108864 would print as 6.7108864e+07. */}}
{{- define "ares-worker.scalar" -}}
{{- if or (kindIs "float64" .) (kindIs "int64" .) (kindIs "int" .) -}}
{{- eq (float64 (int64 .)) (float64 .) | ternary (int64 . | toString) (toString .) -}}
{{- else -}}
{{- toJson . -}}
{{- end -}}
{{- end -}}

{{/* What the chart's own Secret holds: what the values say and the existing Secret doesn't. */}}
{{- define "ares-worker.secretData" -}}
{{- $redis := .Values.redis -}}
{{- $keys := include "ares-worker.secretKeys" . | fromJson -}}
{{- if not $keys.url }}
url: {{ $redis.url | quote }}
{{- end }}
{{- if and $redis.password (not $keys.password) }}
password: {{ $redis.password | quote }}
{{- end }}
{{- if and $redis.sentinelPassword (not $keys.sentinelPassword) }}
sentinel-password: {{ $redis.sentinelPassword | quote }}
{{- end }}
{{- end -}}
