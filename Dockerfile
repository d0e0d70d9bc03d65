# Both stages share one base, so that the native library of the embedded store (libsql, glibc) fits the final image.
# A full version, so that the same sources give the same image. To pin the digest: --build-arg BASE=node:…@sha256:…
ARG BASE=node:24.21.0-bookworm-slim
FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# The lock file also names the other packages of the workspace.
COPY client/package.json ./client/
COPY console/package.json ./console/
COPY connectors/mail/package.json ./connectors/mail/
# Packages from the registry run no scripts here; none needs to.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY nest-cli.json tsconfig.json tsconfig.build.json ormconfig.ts ./
COPY scripts/build.mjs ./scripts/
COPY src ./src
COPY client/src ./client/src
COPY console ./console
# The packages of workspaces are pruned too. npm counts TypeScript as a dependency of @nestjs/swagger, where only the compiler plugin uses it, and
# Scarf has only an install script. Declarations and maps are for developers, and half of the packages' files. The last line starts the rest.
# Shown by the metric build_info: docker build --build-arg COMMIT=$(git rev-parse HEAD) …
ARG COMMIT=
RUN COMMIT=${COMMIT} npm run build -- service console \
  && npm prune --omit=dev --workspaces=false --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/@libsql/*-musl* node_modules/typescript node_modules/@scarf node_modules/.bin \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete \
  && DATABASE_URL=sqlite:/tmp/build/quota.db node dist/src/migrate.js

FROM ${BASE}
ENV NODE_ENV=production \
  HOST=0.0.0.0 \
  PORT=3000 \
  SHUTDOWN_DELAY_SECONDS=12
WORKDIR /app
# Nothing is installed or built from here on, so the tools for it are removed.
# data is the folder for a store in a file; mount a volume there to keep it. Its group is root, which platforms give to users of their choice.
RUN rm -rf /usr/local/lib/node_modules /opt/yarn-* /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
    /usr/local/bin/yarn /usr/local/bin/yarnpkg \
  && mkdir data && chown node:0 data && chmod 770 data
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/console/dist ./console/dist
COPY package.json openapi.json LICENSE THIRD-PARTY-LICENSES.txt ./
USER node
EXPOSE 3000
STOPSIGNAL SIGTERM
# Checks only liveness: restarting the service does not bring a database back.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=32", "dist/src/main.js"]
ARG COMMIT=
LABEL org.opencontainers.image.title="quota-service" \
  org.opencontainers.image.description="Self-hosted quotas for mail accounts and SMS users" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="1.0.4" \
  org.opencontainers.image.revision="${COMMIT}"
