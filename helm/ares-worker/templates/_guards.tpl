{{/* Combinations of values that would install and then not work. All at once, in words. */}}
{{- define "ares-worker.guards" -}}
{{- $problems := concat (include "ares-worker.guardPods" . | fromJsonArray) (include "ares-worker.guardRedis" . | fromJsonArray) (include "ares-worker.guardConfig" . | fromJsonArray) (include "ares-worker.guardMonitoring" . | fromJsonArray) -}}
{{- if $problems -}}
{{- fail (printf "\n\nThese values can't work:\n- %s\n" (join "\n- " $problems)) -}}
{{- end -}}
{{- end -}}

{{- define "ares-worker.guardPods" -}}
{{- $v := .Values -}}
{{- $problems := list -}}
{{- $several := include "ares-worker.severalPods" . -}}
{{- $count := include "ares-worker.scaled" . | eq "true" | ternary "an autoscaler" (printf "replicas %v" $v.replicas) -}}
{{- if and $v.autoscaling.enabled $v.keda.enabled -}}
{{- $problems = append $problems "autoscaling.enabled and keda.enabled exclude each other: two autoscalers would fight over one Deployment" -}}
{{- end -}}
{{- range $name := list "autoscaling" "keda" -}}
{{- $scaler := get $v $name -}}
{{- if and $scaler.enabled (gt (int $scaler.minReplicas) (int $scaler.maxReplicas)) -}}
{{- $problems = append $problems (printf "%s.minReplicas %v is above %s.maxReplicas %v" $name $scaler.minReplicas $name $scaler.maxReplicas) -}}
{{- end -}}
{{- end -}}
{{- if and $v.autoscaling.enabled (not $v.autoscaling.targetCPUUtilizationPercentage) (not $v.autoscaling.metrics) -}}
{{- $problems = append $problems "autoscaling has nothing to scale on: set targetCPUUtilizationPercentage or metrics" -}}
{{- end -}}
{{- if and $v.keda.enabled (not $v.keda.triggers) -}}
{{- if not $v.keda.prometheus.serverAddress -}}
{{- $problems = append $problems "keda needs keda.prometheus.serverAddress, or keda.triggers of your own" -}}
{{- end -}}
{{- if eq (int $v.keda.minReplicas) 0 -}}
{{- $problems = append $problems "keda.minReplicas 0 with the default trigger never starts again: without a worker nothing exports the lag; keep 1, or set keda.triggers" -}}
{{- end -}}
{{- end -}}
{{- if and $several $v.persistence.enabled (not (include "ares-worker.shared" .)) -}}
{{- $problems = append $problems (printf "%s with persistence.accessModes %s: pods on different nodes can't mount one claim; use ReadWriteMany, or replicas 1 without an autoscaler" $count (toJson $v.persistence.accessModes)) -}}
{{- end -}}
{{- if and (not (include "ares-worker.shared" .)) $v.persistence.enabled $v.strategy (ne (toString $v.strategy.type) "Recreate") -}}
{{- $problems = append $problems (printf "strategy.type %v with persistence.accessModes %s: the new pod can't mount the claim before the old one is gone; use Recreate" $v.strategy.type (toJson $v.persistence.accessModes)) -}}
{{- end -}}
{{- if and $several (not $v.persistence.enabled) -}}
{{- $problems = append $problems (printf "%s with persistence.enabled false: each pod would number rounds in an archive of its own" $count) -}}
{{- end -}}
{{- if and $v.persistence.enabled (has "ReadWriteOncePod" $v.persistence.accessModes) (or $v.verify.enabled $v.test.enabled) -}}
{{- $problems = append $problems "ReadWriteOncePod leaves no room for the pods of verify and of helm test: set verify.enabled and test.enabled to false" -}}
{{- end -}}
{{- if and (not $v.persistence.enabled) $v.verify.enabled -}}
{{- $problems = append $problems "verify.enabled with persistence.enabled false: its pod would see an empty archive and report every round as lost; set verify.enabled to false" -}}
{{- end -}}
{{- range $where, $labels := dict "commonLabels" $v.commonLabels "podLabels" $v.podLabels -}}
{{- range $name := keys $labels | sortAlpha -}}
{{- if or (hasPrefix "app.kubernetes.io/" $name) (eq $name "helm.sh/chart") -}}
{{- $problems = append $problems (printf "%s may not set %s: the chart sets it, and selectors rely on it" $where $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name := list "checksum/config" "checksum/redis" -}}
{{- if hasKey $v.podAnnotations $name -}}
{{- $problems = append $problems (printf "podAnnotations may not set %s: it restarts workers when the settings change" $name) -}}
{{- end -}}
{{- end -}}
{{- range $name := list "startupProbe" "livenessProbe" "readinessProbe" -}}
{{- $handlers := list -}}
{{- range $handler := list "exec" "grpc" "httpGet" "tcpSocket" -}}
{{- if get (default dict (get $v $name)) $handler -}}{{- $handlers = append $handlers $handler -}}{{- end -}}
{{- end -}}
{{- if gt (len $handlers) 1 -}}
{{- $problems = append $problems (printf "%s has %s, and a probe has one of them: set the other to null" $name (join " and " $handlers)) -}}
{{- end -}}
{{- end -}}
{{- $fullname := include "ares-worker.fullname" . -}}
{{- if and $v.metrics.service.enabled (not (regexMatch "^[a-z]([a-z0-9-]*[a-z0-9])?$" $fullname)) -}}
{{- $problems = append $problems (printf "the name %s begins with a digit or holds a dot, which a Service may not: set fullnameOverride" $fullname) -}}
{{- end -}}
{{- toJson $problems -}}
{{- end -}}

{{- define "ares-worker.guardRedis" -}}
{{- $redis := .Values.redis -}}
{{- $keys := include "ares-worker.secretKeys" . | fromJson -}}
{{- $problems := list -}}
{{- $url := default "" $redis.url -}}
{{- if not (or $url $keys.url) -}}
{{- $problems = append $problems "redis.url is empty, and no key of redis.existingSecret holds it" -}}
{{- end -}}
{{- if eq $url "embedded" -}}
{{- $problems = append $problems "redis.url embedded: that Redis would live and die with each pod; run a Redis and give its URL" -}}
{{- end -}}
{{- if and $redis.existingSecret (not $keys) -}}
{{- $problems = append $problems "redis.existingSecret without a key: name one in redis.existingSecretKeys" -}}
{{- end -}}
{{- range $name := list "password" "sentinelPassword" -}}
{{- if and (get $redis $name) (get $keys $name) -}}
{{- $problems = append $problems (printf "redis.%s and redis.existingSecretKeys.%s both give it: keep one" $name $name) -}}
{{- end -}}
{{- end -}}
{{- if and $redis.tls.existingSecret (not $keys.url) (not (hasPrefix "rediss" $url)) -}}
{{- $problems = append $problems "redis.tls is set and redis.url has no TLS: use rediss://, rediss+cluster:// or rediss+sentinel://" -}}
{{- end -}}
{{- if ne (empty $redis.tls.certKey) (empty $redis.tls.keyKey) -}}
{{- $problems = append $problems "a client certificate needs both redis.tls.certKey and redis.tls.keyKey" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled $keys.url (not .Values.networkPolicy.redis.ports) -}}
{{- $problems = append $problems "the NetworkPolicy can't read Redis' port from a Secret: set networkPolicy.redis.ports, or networkPolicy.enabled to false" -}}
{{- end -}}
{{- toJson $problems -}}
{{- end -}}

{{- define "ares-worker.guardConfig" -}}
{{- $config := .Values.config -}}
{{- $problems := list -}}
{{- $drain := include "ares-worker.seconds" $config.worker.drain_timeout | float64 -}}
{{- if le (float64 .Values.terminationGracePeriodSeconds) $drain -}}
{{- $problems = append $problems (printf "terminationGracePeriodSeconds %v must be above config.worker.drain_timeout %v, or work is killed while it is being finished" .Values.terminationGracePeriodSeconds $config.worker.drain_timeout) -}}
{{- end -}}
{{- $block := int $config.redis.block_ms -}}
{{- $socket := int $config.redis.socket_timeout_ms -}}
{{- $retention := $config.retention -}}
{{- $retire := include "ares-worker.seconds" $retention.stream_ttl | float64 -}}
{{- $forget := include "ares-worker.seconds" $retention.forget_after | float64 -}}
{{- /* The worker would refuse these too, but only once its pod runs. */ -}}
{{- range $rule := list
  (list (gt (add $block 1000) $socket) "redis.block_ms" $block "redis.socket_timeout_ms" $socket "1000 below")
  (list (gt (mul 2 $block) (int $config.sequencer.lease_ttl_ms)) "redis.block_ms" $block "sequencer.lease_ttl_ms" $config.sequencer.lease_ttl_ms "at most half of")
  (list (lt $drain (divf $block 1000)) "redis.block_ms" $block "worker.drain_timeout" $config.worker.drain_timeout "at most")
  (list (le (int $config.archive.claim_idle_ms) $socket) "redis.socket_timeout_ms" $socket "archive.claim_idle_ms" $config.archive.claim_idle_ms "below")
  (list (gt (int $config.worker.backoff_min_ms) (int $config.worker.backoff_max_ms)) "worker.backoff_min_ms" $config.worker.backoff_min_ms "worker.backoff_max_ms" $config.worker.backoff_max_ms "at most")
  (list (ge (int $config.compaction.keep_recent) (int $config.compaction.threshold)) "compaction.keep_recent" $config.compaction.keep_recent "compaction.threshold" $config.compaction.threshold "below")
  (list (gt (int $retention.feed_keep) (int $retention.feed_max)) "retention.feed_keep" $retention.feed_keep "retention.feed_max" $retention.feed_max "at most")
  (list (and (gt $forget 0.0) (lt $forget $retire)) "retention.stream_ttl" $retention.stream_ttl "retention.forget_after" $retention.forget_after "at most")
-}}
{{- if first $rule -}}
{{- $problems = append $problems (printf "config.%s %v must be %s config.%s %v" (index $rule 1) (index $rule 2) (index $rule 5) (index $rule 3) (index $rule 4)) -}}
{{- end -}}
{{- end -}}
{{- if $config.worker.name -}}
{{- $problems = append $problems "config.worker.name would give all pods one name in leases and groups; leave it null" -}}
{{- end -}}
{{- $mount := .Values.persistence.mountPath -}}
{{- range $key, $path := dict "archive.dir" $config.archive.dir "segments.base" (default (printf "%s/segments" $mount) $config.segments.base) -}}
{{- if not (hasPrefix (printf "%s/" $mount) $path) -}}
{{- $problems = append $problems (printf "config.%s %s lies outside persistence.mountPath %s, where nothing can be written" $key $path $mount) -}}
{{- else if has ".." (splitList "/" $path) -}}
{{- $problems = append $problems (printf "config.%s %s climbs by ..: write the folder it means" $key $path) -}}
{{- end -}}
{{- end -}}
{{- if or (hasPrefix "127." $config.metrics.host) (has $config.metrics.host (list "localhost" "::1")) -}}
{{- $problems = append $problems (printf "config.metrics.host %s answers only inside the pod: probes and scrapes come from outside, use 0.0.0.0 or ::" $config.metrics.host) -}}
{{- end -}}
{{- range .Values.extraEnv -}}
{{- if hasPrefix "ARES_REDIS_" .name -}}
{{- $problems = append $problems (printf "extraEnv may not set %s: use the values under redis and config.redis" .name) -}}
{{- else if has .name (list "ARES_ARCHIVE_DIR" "ARES_SEGMENTS_BASE" "ARES_METRICS_HOST" "ARES_METRICS_PORT" "ARES_WORKER_DRAIN_TIMEOUT" "ARES_TENANTS") -}}
{{- $problems = append $problems (printf "extraEnv may not set %s, which other parts of the chart follow: use the value under config" .name) -}}
{{- else if eq .name "ARES_CONFIG" -}}
{{- $problems = append $problems "extraEnv may not set ARES_CONFIG: use the values under config" -}}
{{- end -}}
{{- end -}}
{{- toJson $problems -}}
{{- end -}}

{{- define "ares-worker.guardMonitoring" -}}
{{- $metrics := .Values.metrics -}}
{{- $problems := list -}}
{{- if and $metrics.serviceMonitor.enabled $metrics.podMonitor.enabled -}}
{{- $problems = append $problems "metrics.serviceMonitor and metrics.podMonitor exclude each other: every worker would be scraped twice" -}}
{{- end -}}
{{- range $name := list "serviceMonitor" "podMonitor" -}}
{{- $monitor := get $metrics $name -}}
{{- $plain := "^[0-9]+(ms|s|m|h)$" -}}
{{- if and $monitor.enabled (regexMatch $plain $monitor.interval) (regexMatch $plain $monitor.scrapeTimeout) -}}
{{- if gt (include "ares-worker.seconds" $monitor.scrapeTimeout | float64) (include "ares-worker.seconds" $monitor.interval | float64) -}}
{{- $problems = append $problems (printf "metrics.%s.scrapeTimeout %s is above its interval %s: Prometheus refuses that" $name $monitor.scrapeTimeout $monitor.interval) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $metrics.serviceMonitor.enabled (not $metrics.service.enabled) -}}
{{- $problems = append $problems "metrics.serviceMonitor needs metrics.service.enabled" -}}
{{- end -}}
{{- /* Offline the API list is short and proves nothing; only a cluster lists kinds. */ -}}
{{- if .Capabilities.APIVersions.Has "apps/v1/Deployment" -}}
{{- range $kind, $wanted := dict "monitoring.coreos.com/v1/ServiceMonitor" $metrics.serviceMonitor.enabled "monitoring.coreos.com/v1/PodMonitor" $metrics.podMonitor.enabled "monitoring.coreos.com/v1/PrometheusRule" .Values.prometheusRule.enabled "keda.sh/v1alpha1/ScaledObject" .Values.keda.enabled -}}
{{- if and $wanted (not ($.Capabilities.APIVersions.Has $kind)) -}}
{{- $problems = append $problems (printf "this cluster doesn't know %s: install its operator first, or turn that value off" $kind) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $problems -}}
{{- end -}}
