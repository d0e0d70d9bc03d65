import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { freePort } from '../scripts/mariadb.mjs'
import { Collector } from './support/collector.js'
import { Instance } from './support/instance.js'
import { onEveryStore, type Store } from './support/store.js'
import { servedTraced } from './support/traced.js'
import { inParallel, times } from './support/wire.js'

/** The spans that wait for the collector, and those that are on their way to it. */
const MORE_THAN_WAIT = 2_048 + 512 + 100
/** Less than the time limit of what is sent to the collector, in milliseconds. */
const NONE_TIMED_OUT_MS = 4_000

onEveryStore('traces', (kind) => {
  let store: Store
  let collector: Collector

  beforeAll(async () => {
    collector = await Collector.start()
    store = await kind.open()
  })

  it.each([
    ['parentbased_always_on', '1', [true, false, true]],
    ['parentbased_always_off', '1', [true, false, false]],
    ['always_on', '1', [true, true, true]],
    ['always_off', '1', [false, false, false]],
    ['traceidratio', '0', [false, false, false]],
    ['parentbased_traceidratio', '0', [true, false, false]],
    ['parentbased_traceidratio', '1', [true, false, true]],
  ])('are of those requests that %s (%s) chooses', async (sampler, ratio, [asked, declined, own]) => {
    const env = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio, OTEL_SERVICE_NAME: `of-${sampler}` }
    const before = collector.spans.length
    const sent: string[] = []
    await servedTraced(store, collector, env, async (app, call) => {
      for (const sampled of [true, false]) sent.push((await call('GET', '/api/v1/me', { sampled })).traceId)
      await app.get('/api/v1/me')
    })
    const found = collector.spans.slice(before)
    expect(found.filter(({ traceId }) => traceId === sent[0])).toHaveLength(Number(asked))
    expect(found.filter(({ traceId }) => traceId === sent[1])).toHaveLength(Number(declined))
    const begun = found.filter(({ traceId }) => !sent.includes(traceId))
    expect(begun.map(({ parentSpanId }) => parentSpanId)).toEqual(own === true ? [undefined] : [])
    if (found.length > 0) expect(collector.resource['service.name']).toBe(`of-${sampler}`)
  })

  describe('of a process', () => {
    beforeAll(() => {})

    afterAll(() => {
      collector.status = 200
    })

    /** Has one answer one request, and ends it. @returns its log, as objects */
    async function logOf(env: Record<string, string>): Promise<Record<string, unknown>[]> {
      const instance = await Instance.start(store.url, { LOG_LEVEL: 'info', ...env })
      expect((await instance.get('/api/v1/me')).status).toBe(200)
      expect(await instance.terminate()).toBe(0)
      const lines = instance.log.split('\n').filter((line) => line.startsWith('{'))
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    }

    const request = (line: Record<string, unknown>): boolean => line['route'] === '/api/v1/me'

    it('are found by the id in the log, and name their service', async () => {
      const line = (
        await logOf({
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
          OTEL_EXPORTER_OTLP_HEADERS: 'x-key=of%20mine',
          OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=here',
        })
      ).find(request)
      expect(collector.of(String(line?.['trace_id']))).toMatchObject([
        { name: 'GET /api/v1/me', attributes: { 'quota.request_id': line?.['request_id'] } },
      ])
      expect(collector.headers['x-key']).toBe('of mine')
      expect(collector.resource).toMatchObject({
        'service.name': 'quota-service',
        'deployment.environment.name': 'here',
        'service.instance.id': expect.any(String),
      })
    })

    it('are lost if the collector accepts none; the log says so, and nothing else is lost', async () => {
      collector.status = 400
      const lines = await logOf({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
      collector.status = 200
      expect(lines.filter(({ context }) => context === 'Traces')).toMatchObject([
        { level: 'warn', message: expect.stringMatching(/^spans are lost: the collector does not accept them: /) },
      ])
    })

    it('are lost while the collector is slower than they come; the log says how many', async () => {
      let goOn = (): void => undefined
      collector.until = new Promise((resolve) => {
        goOn = resolve
      })
      const env = { LOG_LEVEL: 'warn', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
      const instance = await Instance.start(store.url, env)
      const isTold = (): boolean => instance.log.includes('Dropped')
      const ask = async (): Promise<void> => {
        if (!isTold()) await instance.get('/api/v1/me')
      }
      const began = performance.now()
      for (let wave = 0; wave < 20 && !isTold(); wave += 1) {
        await inParallel(16, times(MORE_THAN_WAIT), ask)
        // Told with the first span for which there is room again: also when what was sent has timed out.
        if (performance.now() - began < NONE_TIMED_OUT_MS) goOn()
      }
      goOn()
      expect(await instance.terminate()).toBe(0)
      expect(instance.log).toMatch(/"context":"Traces","message":"OpenTelemetry: Dropped \d+ spans /)
    })

    it('delay nothing without a collector', async () => {
      const lines = await logOf({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}` })
      expect(lines.at(-1)).toMatchObject({ message: 'shut down' })
    })

    it('do not change the log if they are off', async () => {
      expect((await logOf({})).find(request)).not.toHaveProperty('trace_id')
    })
  })
})
