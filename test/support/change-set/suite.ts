import type { Response } from 'supertest'
import type { TestApp } from '../app.js'
import { type Body, bodyOf } from '../quota-api.js'
import type { ChannelApi } from '../channel-api.js'
import { quotaSuite } from '../quota/suite.js'

/** One channel's change sets under test, and helpers for requests. */
export function changeSetSuite(api: ChannelApi, app: () => TestApp) {
  const quota = quotaSuite(api, app)
  const at = (id: number, more = '') => `${api.quotas}/change-sets/${id}${more}`
  const create = (body: object, key?: string) =>
    app().post(`${api.quotas}/change-sets`, body, key === undefined ? {} : { key })
  const upload = (text: string | Buffer, more: { key?: string; headers?: Record<string, string> } = {}) =>
    app()
      .send('post', `${api.quotas}/import`, {
        ...(more.key === undefined ? {} : { key: more.key }),
        headers: { 'Content-Type': 'text/csv', ...more.headers },
      })
      .send(text)
  const get = async (id: number): Promise<Body> => bodyOf(200, await app().get(at(id)))
  const settled = async (id: number): Promise<Body> => {
    for (;;) {
      const set = await get(id)
      if (!['preparing', 'applying', 'reverting'].includes(set.state)) return set
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const ready = async (answer: Response): Promise<Body> => settled(bodyOf(202, answer).id)
  const made = async (filter: object, change: object): Promise<Body> => ready(await create({ filter, change }))
  const imported = async (...lines: string[]): Promise<Body> => ready(await upload(lines.join('\r\n')))
  const rows = async (id: number, query = 'page_size=100'): Promise<Body[]> =>
    bodyOf(200, await app().get(at(id, `/rows?${query}`))).items
  const apply = ({ id, version, counts }: Body, more: object = {}) =>
    app().post(at(id, '/apply'), { version, rows: counts.planned, ...more })
  const applied = async (set: Body): Promise<Body> => ready(await apply(set))
  const revert = ({ id, version }: Body, more: object = {}) => app().post(at(id, '/revert'), { version, ...more })
  const reverted = async (set: Body): Promise<Body> => ready(await revert(set))
  const csv = async (path: string): Promise<string> => {
    const answer = await app().get(path).buffer(true)
    if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`)
    return answer.text
  }
  const rowsCsv = async (id: number, query = '') => csv(at(id, `/rows.csv${query}`))
  const exported = async (query: string) => csv(`${api.quotas}/export.csv?${query}`)
  const outcomes = async (id: number): Promise<[number, string, string | undefined][]> =>
    (await rows(id)).map(({ row, outcome, problem }: Body) => [row, outcome, problem?.code])
  return {
    ...quota,
    at,
    setOf: get,
    createSet: create,
    upload,
    settled,
    ready,
    madeSet: made,
    imported,
    rows,
    apply,
    applied,
    revert,
    reverted,
    csv,
    rowsCsv,
    exported,
    outcomes,
  }
}

/** The shared state of one channel's contracts. */
export type ChangeSetSuite = ReturnType<typeof changeSetSuite>
