{{/* One scrape endpoint; the same for a ServiceMonitor and a PodMonitor. */}}
{{- define "ares-worker.endpoint" -}}
- port: metrics
  path: /metrics
  interval: {{ .interval }}
  scrapeTimeout: {{ .scrapeTimeout }}
  {{- with .relabelings }}
  relabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .metricRelabelings }}
  metricRelabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* Rule groups as JSON: rules/alerts.yaml with `${selector}`, `${runbookUrl}` and the thresholds
filled in, then the overrides. */}}
{{- define "ares-worker.ruleGroups" -}}
{{- $values := .Values.prometheusRule -}}
{{- $text := .Files.Get "rules/alerts.yaml" | replace "${selector}" (tpl $values.selector .) | replace "${runbookUrl}" $values.runbookUrl -}}
{{- range $name, $value := $values.thresholds -}}
{{- $text = replace (printf "${%s}" $name) (include "ares-worker.scalar" $value) $text -}}
{{- end -}}
{{- $groups := list -}}
{{- range (fromYaml $text).groups -}}
{{- $rules := list -}}
{{- range $rule := .rules -}}
{{- $override := get $values.overrides $rule.alert | default dict -}}
{{- if ne (toString $override.enabled) "false" -}}
{{- $severity := default $rule.labels.severity $override.severity -}}
{{- $labels := merge (dict "severity" $severity) (default dict $override.labels) $values.alertLabels -}}
{{- $annotations := merge (default dict $override.annotations) $rule.annotations -}}
{{- $_ := set $rule "labels" $labels -}}
{{- $_ := set $rule "annotations" $annotations -}}
{{- with $override.for -}}{{- $_ := set $rule "for" . -}}{{- end -}}
{{- $rules = append $rules $rule -}}
{{- end -}}
{{- end -}}
{{- if $rules -}}{{- $groups = append $groups (set . "rules" $rules) -}}{{- end -}}
{{- end -}}
{{- toJson $groups -}}
{{- end -}}
