import { readFileSync } from 'node:fs'
import { Inject, Injectable } from '@nestjs/common'
import { Gauge, type Registry } from 'prom-client'
import { METRICS_REGISTRY } from '../common/metrics.js'

/** The running build. */
export interface Build {
  /** The version in package.json. */
  readonly version: string
  /** The commit of the build, with `-dirty` if files differed from it; empty if unknown. */
  readonly commit: string
}

/** Written by scripts/build.mjs; sources that run without a build have none. */
const FILE = new URL('../../build.json', import.meta.url)

/** Reads the running build. The service starts without this information. */
export function readBuild(): Build {
  try {
    const { version, commit } = JSON.parse(readFileSync(FILE, 'utf8')) as Build
    return { version, commit }
  } catch {
    return { version: 'unknown', commit: '' }
  }
}

/** The build as text, for the log: `0.1.0 (6154f07a1b2c)`. */
export function buildName({ version, commit }: Build): string {
  return commit === '' ? version : `${version} (${commit})`
}

/** Exports the running build to Prometheus; callers do not see it. */
@Injectable()
export class BuildMetrics {
  constructor(@Inject(METRICS_REGISTRY) registry: Registry) {
    new Gauge({
      name: 'build_info',
      help: 'Always 1: the running version, and the commit from which it was built.',
      labelNames: ['version', 'commit'],
      registers: [registry],
    }).set({ ...readBuild() }, 1)
  }
}
