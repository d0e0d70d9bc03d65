# syntax=docker/dockerfile:1

# Both stages share one base, so that the native library of the embedded store (libsql, glibc) fits the final image.
FROM node:20-bookworm-slim AS build
# An install reports to nobody.
ENV SCARF_ANALYTICS=false
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY nest-cli.json tsconfig.json tsconfig.build.json ormconfig.ts ./
COPY src ./src
RUN npm run build \
  && npm prune --omit=dev --no-audit --no-fund \
  && rm -rf node_modules/@libsql/*-musl* \
  && node --input-type=module -e "import Database from 'libsql'; new Database(':memory:').exec('SELECT 1')"

FROM node:20-bookworm-slim
ENV NODE_ENV=production \
  HOST=0.0.0.0 \
  PORT=3000
WORKDIR /app
# Where a store in a file may live; mount a volume here to keep it.
RUN mkdir data && chown node:node data
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json openapi.json LICENSE ./
USER node
EXPOSE 3000
STOPSIGNAL SIGTERM
# Liveness alone: restarting the service does not bring a database back.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/src/main.js"]
