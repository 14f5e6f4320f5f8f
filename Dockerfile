# The image of Recourse: built JavaScript and production dependencies, run as one process that is neither root nor npm.
#
#   docker build -t recourse .
#   docker run --rm -p 127.0.0.1:8080:8080 -e ALLOW_ANONYMOUS=true recourse
#
# In the image HOST is 0.0.0.0, and without API_KEYS the service refuses to start on it: set keys, or say
# ALLOW_ANONYMOUS=true where nobody else reaches the port (as above, where it is published on loopback only).

# A build that must not follow the tag names the base by its digest: --build-arg NODE_IMAGE=node@sha256:…
ARG NODE_IMAGE=node:26-bookworm-slim

FROM $NODE_IMAGE AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The lock file names every package of this repository. Of the client and of what tests share nothing is in the image; the
# checkout's own names the vendors' clients.
COPY clients/typescript/package.json clients/typescript/
COPY checkout/package.json checkout/
COPY test/support/package.json test/support/
COPY packages/background/package.json packages/background/
COPY packages/cli/package.json packages/cli/
COPY packages/console/package.json packages/console/
COPY packages/decide/package.json packages/decide/
COPY packages/dialects/package.json packages/dialects/
COPY packages/mcp-server/package.json packages/mcp-server/
COPY packages/oncall/package.json packages/oncall/
COPY packages/store-redis/package.json packages/store-redis/
COPY packages/store-sqlite/package.json packages/store-sqlite/
COPY packages/testing/package.json packages/testing/
COPY packages/tool-hosts/package.json packages/tool-hosts/
COPY packages/toolkit-files/package.json packages/toolkit-files/
COPY packages/toolkit-google/package.json packages/toolkit-google/
COPY packages/toolkit-kit/package.json packages/toolkit-kit/
COPY packages/toolkit-notes/package.json packages/toolkit-notes/
COPY packages/toolkit-shell/package.json packages/toolkit-shell/
COPY packages/toolkit-slack/package.json packages/toolkit-slack/
COPY packages/toolkit-web/package.json packages/toolkit-web/
COPY packages/tracing/package.json packages/tracing/
COPY packages/upstream-mcp/package.json packages/upstream-mcp/
COPY packages/upstream-openapi/package.json packages/upstream-openapi/
COPY packages/upstreams/package.json packages/upstreams/
# With the optional packages: the compiler's native binary is one of them.
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
COPY packages packages
RUN npm run build && rm -r packages/*/src
# What is in the image, for those who look for known vulnerabilities.
RUN node scripts/sbom.ts sbom.cdx.json

FROM $NODE_IMAGE AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY clients/typescript/package.json clients/typescript/
COPY checkout/package.json checkout/
COPY test/support/package.json test/support/
COPY packages/background/package.json packages/background/
COPY packages/cli/package.json packages/cli/
COPY packages/console/package.json packages/console/
COPY packages/decide/package.json packages/decide/
COPY packages/dialects/package.json packages/dialects/
COPY packages/mcp-server/package.json packages/mcp-server/
COPY packages/oncall/package.json packages/oncall/
COPY packages/store-redis/package.json packages/store-redis/
COPY packages/store-sqlite/package.json packages/store-sqlite/
COPY packages/testing/package.json packages/testing/
COPY packages/tool-hosts/package.json packages/tool-hosts/
COPY packages/toolkit-files/package.json packages/toolkit-files/
COPY packages/toolkit-google/package.json packages/toolkit-google/
COPY packages/toolkit-kit/package.json packages/toolkit-kit/
COPY packages/toolkit-notes/package.json packages/toolkit-notes/
COPY packages/toolkit-shell/package.json packages/toolkit-shell/
COPY packages/toolkit-slack/package.json packages/toolkit-slack/
COPY packages/toolkit-web/package.json packages/toolkit-web/
COPY packages/tracing/package.json packages/tracing/
COPY packages/upstream-mcp/package.json packages/upstream-mcp/
COPY packages/upstream-openapi/package.json packages/upstream-openapi/
COPY packages/upstreams/package.json packages/upstreams/
# Without the optional packages: they carry a second Node (120 MB) for machines whose own is too old. npm then also leaves out the
# link by which packages find the service, for it is a development dependency and an optional peer.
# Then without what nothing runs, which is a third of them: source maps, type declarations and sources, manuals.
RUN npm ci --omit=dev --omit=optional \
 && ln -s .. node_modules/recourse-server \
 && rm -r node_modules/@recourse/client node_modules/@recourse/checkout node_modules/@recourse/test-support \
 && find node_modules -type f ! -iname 'licen[cs]e*' ! -iname 'notice*' \
      \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.md' -o -name '*.markdown' \) -delete

FROM $NODE_IMAGE
ARG VERSION=0.2.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Recourse" \
      org.opencontainers.image.description="An HTTP service that executes tools for LLM agents: every call comes back as a result the model can act on." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
WORKDIR /app
# Owned by root and never written: the service runs as another user, on a read-only root file system where asked to.
COPY package.json ./
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/packages packages
COPY --from=build /app/sbom.cdx.json ./
# The one place that the file tools may write to. A volume mounted here starts as a copy of the example.
COPY --chown=node:node examples/workspace /workspace
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=8080 \
    WORKSPACE_DIR=/workspace \
    NODE_COMPILE_CACHE=/tmp/recourse-compiled
EXPOSE 8080
# The user `node` by its number: Kubernetes' runAsNonRoot cannot judge a name.
USER 1000:1000
STOPSIGNAL SIGTERM
# Where /live is: on OPS_PORT where there is one. An empty value means unset, here as in the service.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.OPS_PORT || process.env.PORT || 8080) + '/live', { signal: AbortSignal.timeout(2000) }).then((response) => process.exit(response.ok ? 0 : 1), () => process.exit(1))"]
# No entry point of the base image in between: node is the process that gets the signals.
ENTRYPOINT []
CMD ["node", "dist/main.js"]
