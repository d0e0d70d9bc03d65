import { readFileSync } from 'node:fs'
import { Inject, Injectable } from '@nestjs/common'
import { Gauge, type Registry } from 'prom-client'
import { METRICS_REGISTRY } from '../metrics/metrics.js'

/** What runs here. */
export interface Build {
  /** That of package.json. */
  readonly version: string
  /** The commit it was built from, with `-dirty` where files differed from it; empty where nobody knew. */
  readonly commit: string
}

/** Written by scripts/build.mjs; sources that run as they are have none. */
const FILE = new URL('../../build.json', import.meta.url)

/** Reads what runs here. Not knowing it is no reason not to run. */
export function readBuild(file: URL = FILE): Build {
  try {
    const { version, commit } = JSON.parse(readFileSync(file, 'utf8')) as Build
    return { version, commit }
  } catch {
    return { version: 'unknown', commit: '' }
  }
}

/** The same in words, for the log: `0.1.0 (6154f07a1b2c)`. */
export function buildName({ version, commit }: Build): string {
  return commit === '' ? version : `${version} (${commit})`
}

/** Tells Prometheus what runs here; callers are not told. */
@Injectable()
export class BuildMetrics {
  constructor(@Inject(METRICS_REGISTRY) registry: Registry) {
    new Gauge({
      name: 'build_info',
      help: 'Always 1; its labels say which version runs here and from which commit it was built.',
      labelNames: ['version', 'commit'],
      registers: [registry],
    }).set({ ...readBuild() }, 1)
  }
}
