# The image of ares-worker.
#
#   docker build -t ares-worker:0.1.0 --build-arg REVISION="$(git rev-parse HEAD)" .
#
# On glibc (slim, not alpine) every dependency comes as a wheel: no compiler is needed.
# Pin the base in production: --build-arg PYTHON_IMAGE=python:3.13-slim-bookworm@sha256:…
ARG PYTHON_IMAGE=python:3.13-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
RUN python -m venv /opt/ares
COPY pyproject.toml README.md LICENSE ./
COPY streams streams
COPY archive archive
COPY ops ops
COPY worker worker
# In the package, for ares_build_info.
ARG REVISION=unknown
RUN printf '%s\n' "${REVISION}" > worker/REVISION \
    && /opt/ares/bin/pip install --no-cache-dir --disable-pip-version-check . \
    && /opt/ares/bin/pip uninstall --yes --disable-pip-version-check pip

FROM ${PYTHON_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="ares-worker" \
      org.opencontainers.image.description="Archives and compacts AI agents' life-cycle events from Redis Streams." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# A numeric user, so that runAsNonRoot can be checked; it owns the archive's folder and nothing else.
RUN groupadd --gid 10001 ares \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin ares \
    && install -d -o 10001 -g 10001 -m 0750 /var/lib/ares-worker
COPY --from=build /opt/ares /opt/ares
# A file, not ARES_* variables: those would win over a settings file that is mounted here.
RUN mkdir -p /etc/ares-worker/config \
    && printf '%s\n' '[archive]' 'dir = "/var/lib/ares-worker/rounds"' '[metrics]' 'host = "0.0.0.0"' \
        > /etc/ares-worker/config/config.toml

# PYTHONSAFEPATH: the packages are called worker, streams, archive and ops; a folder of that name
# in the working directory must not come first.
ENV PATH=/opt/ares/bin:$PATH \
    PYTHONSAFEPATH=1 \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    ARES_CONFIG=/etc/ares-worker/config/config.toml

USER 10001:10001
WORKDIR /tmp
EXPOSE 9095
# Kubernetes has probes of its own and ignores this.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=6 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9095/livez', timeout=4)"]
ENTRYPOINT ["ares-worker"]
CMD ["run"]
