import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { findInterpreters } from '../scripts/programs.mjs'
import { freePort } from '../scripts/mariadb.mjs'
import { ClientBench } from './support/client.contract.js'
import { type Ended, runProgram } from './support/command.js'
import { figure } from './support/figures.js'
import { ADMIN } from './support/instance.js'
import { type HttpFate, LossyProxy } from './support/lossy-proxy.js'
import { temporaryFolder } from './support/opened.js'
import { Receiver, status } from './support/receiver.js'
import { onEveryStore } from './support/store.js'
import { times } from './support/wire.js'

const MESSAGES = 120
/** The account whose quota is soon exhausted. */
const SHORT = 1
const SHORT_TOTAL = 20
/** An account without a quota. */
const NONE = 2
const ACCOUNTS = 8
/** The provider refuses every seventh message. */
const UNSENDABLE = 7
const RETRY_AFTER_MS = 1_000
const REPLACEMENTS = [
  '429 Too Many Requests\r\nRetry-After: 1',
  '503 Service Unavailable\r\nRetry-After: 1',
  '502 Bad Gateway',
]
/** The fates, each with the upper end of its range of random numbers. */
const SHARES: readonly [HttpFate, below: number][] = [
  ['lose', 0.1],
  ['reset before', 0.15],
  ['reset within', 0.2],
  ['replace', 0.23],
  ['pass', 1],
]
/** Of the random numbers, so that every run has the same ones. */
const SEED = 48_611
const PATIENCE_MS = 600_000

interface Network {
  readonly proxy: LossyProxy
  readonly fates: [line: string, fate: HttpFate][]
  /** How long the sender stayed away after each answer with a Retry-After. */
  readonly pausesMs: number[]
}

interface Language {
  readonly name: string
  readonly program: string
  readonly file: string
  /** The line that makes an attempt, and what before it gives each attempt a key of its own. */
  readonly attempt: string
  readonly newKey: string
  /** Accounts of the language's tests begin after this. */
  readonly base: number
}

const { python, php } = findInterpreters() ?? { python: '', php: '' }
const LANGUAGES: readonly Language[] = [
  {
    name: 'Python',
    program: python,
    file: 'examples/senders/sender.py',
    attempt: '            response, text = request(',
    newKey: '            if key: headers["Idempotency-Key"] = str(uuid.uuid4())\n',
    base: 1_000,
  },
  {
    name: 'PHP',
    program: php,
    file: 'examples/senders/sender.php',
    attempt: '        [$status, $values, $text] = request(',
    newKey: '        $headers = preg_replace("/^(Idempotency-Key:).*/", "$1 " . bin2hex(random_bytes(8)), $headers);\n',
    base: 2_000,
  },
]

interface Message {
  readonly id: string
  readonly account_id: number
  readonly amount: number
  readonly text: string
  readonly run?: string
}

interface Result {
  readonly id: string
  readonly result: string
  readonly [more: string]: unknown
}

onEveryStore('the senders of examples/senders, on a network that loses answers,', (kind) => {
  let bench: ClientBench
  let provider: Receiver
  let folder: string

  beforeAll(async () => {
    bench = await ClientBench.start(kind)
    provider = await Receiver.start()
    provider.answers.set('/send', (response, received, request) => {
      const { id } = JSON.parse(received.body) as Message
      status(Number(id.split(' ')[1]) % UNSENDABLE === 0 ? 400 : 202)(response, received, request)
    })
    folder = temporaryFolder('quota-senders-')
  })

  afterAll(async () => {
    await bench.stop()
  })

  beforeEach(() => {
    provider.messages.length = 0
    bench.proxy.rule = () => 'pass'
  })

  /**
   * A network with the same fates in every run: one answer in ten is lost, one connection in ten reset, a few answers
   * replaced.
   */
  async function losing(seed: number): Promise<Network> {
    const proxy = await LossyProxy.start(bench.instance.url)
    const network: Network = { proxy, fates: [], pausesMs: [] }
    let dice = seed
    let askedAt: number | undefined
    proxy.rule = (head) => {
      if (askedAt !== undefined) network.pausesMs.push(performance.now() - askedAt)
      dice = (dice * 48_271) % 2_147_483_647
      const chance = dice / 2_147_483_647
      const [fate] = SHARES.find(([, below]) => chance < below)!
      const replacement = REPLACEMENTS[dice % REPLACEMENTS.length]!
      proxy.instead = `HTTP/1.1 ${replacement}\r\nContent-Length: 0\r\n\r\n`
      askedAt = fate === 'replace' && replacement.includes('Retry-After') ? performance.now() : undefined
      network.fates.push([head.split(' HTTP/')[0] ?? '', fate])
      return fate
    }
    return network
  }

  describe.each(LANGUAGES)('in $name,', ({ name, program, file, attempt, newKey, base }) => {
    async function run(
      messages: readonly Message[],
      { script = file, token = ADMIN, url = bench.proxy.url, PROVIDER_URL = provider.url('/send') } = {},
    ): Promise<Ended> {
      const input = messages.map((message) => `${JSON.stringify(message)}\n`).join('')
      return runProgram(program, [script], {
        input,
        env: { QUOTA_URL: url, QUOTA_TOKEN: token, PROVIDER_URL },
      })
    }

    async function resultsOf(
      messages: readonly Message[],
      options: { script?: string; url?: string; PROVIDER_URL?: string } = {},
    ): Promise<Result[]> {
      const ended = await run(messages, options)
      expect(ended).toMatchObject({ code: 0, stderr: '' })
      const results = ended.stdout.split('\n').slice(0, -1)
      return results.map((line) => JSON.parse(line) as Result)
    }

    async function quotaOf(accountId: number): Promise<void> {
      const type1 = { quotaType: 1, total: 1_000_000, expireAt: '2099-01-01T00:00:00Z' } as const
      const monthly = {
        quotaType: 2,
        total: SHORT_TOTAL,
        cycleUnit: 'month',
        cycleResetAt: '2098-01-01T00:00:00Z',
      } as const
      await bench
        .client({ direct: true })
        .mail.quotas.create({ accountId, ...(accountId === base + SHORT ? monthly : type1) })
    }

    /** The used and reserved units, and the states of the operations. */
    async function booksOf(accountId: number): Promise<{ used: number; reserved: number; states: string[] }> {
      const { mail } = bench.client({ direct: true })
      const { used, reserved } = await mail.quotas.summary({ accountId })
      const states = []
      for await (const { state } of mail.operations({ accountId, pageSize: 100 })) states.push(state)
      return { used, reserved, states: states.sort() }
    }

    const sentTo = (): string[] => provider.of('/send').map(({ body }) => (JSON.parse(body) as Message).id)

    const messages: Message[] = times(MESSAGES).map((number) => ({
      id: `${name} ${number}`,
      account_id: base + 1 + (number % ACCOUNTS),
      amount: 1 + (number % 3),
      text: 'Grüße',
    }))
    const accounts = times(ACCOUNTS).map((index) => base + 1 + index)

    it(
      `charges ${MESSAGES} messages of ${ACCOUNTS} senders once, exactly those that were sent, and does nothing when run again`,
      async () => {
        for (const account of accounts) if (account !== base + NONE) await quotaOf(account)
        const networks = await Promise.all(accounts.map(async (account) => losing(SEED * account)))
        // Each account has a sender of its own, so that its messages have an order.
        const sendAll = async (): Promise<Result[]> => {
          const all = accounts.map(async (account, index) =>
            resultsOf(
              messages.filter(({ account_id }) => account_id === account),
              { url: networks[index]!.proxy.url },
            ),
          )
          return (await Promise.all(all)).flat()
        }
        const results = await sendAll()
        const of = (result: string): Message[] =>
          results.filter((one) => one.result === result).map(({ id }) => messages.find((message) => message.id === id)!)
        const [sent, notSent, refused] = ['sent', 'not sent', 'refused'].map(of) as [Message[], Message[], Message[]]

        // Every message has one result, and the provider got each of those that were charged or released, once.
        const idsOf = (some: readonly { id: string }[]): string[] => some.map(({ id }) => id).sort()
        expect(idsOf([...sent, ...notSent, ...refused])).toEqual(idsOf(messages))
        expect(sentTo().sort()).toEqual(idsOf([...sent, ...notSent]))
        expect(notSent.every(({ id }) => Number(id.split(' ')[1]) % UNSENDABLE === 0)).toBe(true)
        const reasons = results.filter(({ result }) => result === 'refused')
        for (const { id, code, refills_at } of reasons) {
          const owner = messages.find((message) => message.id === id)!.account_id - base
          expect([owner, code, refills_at]).toEqual(
            owner === NONE ? [NONE, 'no_active_quota', null] : [SHORT, 'quota_exceeded', '2098-01-01T00:00:00.000Z'],
          )
        }
        expect(new Set(reasons.map(({ code }) => code)).size).toBe(2)
        const books = await Promise.all(accounts.map(booksOf))
        expect(books).toEqual(
          accounts.map((account) => {
            const [charged = [], released = []] = [sent, notSent].map((some) =>
              some.filter(({ account_id }) => account_id === account),
            )
            return {
              used: charged.reduce((sum, { amount }) => sum + amount, 0),
              reserved: 0,
              states: [...charged.map(() => 'committed'), ...released.map(() => 'released')],
            }
          }),
        )

        // The control: the network lost every kind of answer.
        const fates = networks.flatMap((network) => network.fates)
        const met = (what: RegExp, ...lost: HttpFate[]): number =>
          fates.filter(([line, fate]) => what.test(line) && lost.includes(fate)).length
        for (const what of [/reserve$/, /commit$/])
          expect(met(what, 'lose', 'reset within')).toBeGreaterThan(MESSAGES / 20)
        expect(met(/release$/, 'lose', 'reset before', 'reset within')).toBeGreaterThan(0)
        const pausesMs = networks.flatMap((network) => network.pausesMs)
        expect(pausesMs.length).toBeGreaterThan(0)
        expect(Math.min(...pausesMs)).toBeGreaterThanOrEqual(RETRY_AFTER_MS)
        figure(`senders in ${name}, ${kind.name}`, {
          messages: MESSAGES,
          requests: fates.length,
          'answers lost': met(/./, 'lose'),
          'connections reset': met(/./, 'reset before', 'reset within'),
          'answers replaced': met(/./, 'replace'),
          sent: sent.length,
          'not sent': notSent.length,
          refused: refused.length,
          'units used': books.reduce((sum, { used }) => sum + used, 0),
        })

        provider.messages.length = 0
        const seen: Record<string, object> = {
          sent: { result: 'seen', state: 'committed' },
          'not sent': { result: 'seen', state: 'released' },
        }
        expect(await sendAll()).toEqual(results.map((one) => ({ ...one, ...seen[one.result] })))
        expect(sentTo()).toEqual([])
        expect(await Promise.all(accounts.map(booksOf))).toEqual(books)
        for (const { proxy } of networks) await proxy.close()
      },
      PATIENCE_MS,
    )

    it('leaves holds behind if each attempt has a key of its own', async () => {
      const account = base + 100
      await quotaOf(account)
      const text = await readFile(file, 'utf8')
      const script = join(folder, `${name}-new-keys`)
      expect(text.split(attempt)).toHaveLength(2)
      await writeFile(
        script,
        text.replace(attempt, () => newKey + attempt),
      )
      const { proxy } = await losing(SEED)
      await resultsOf(
        messages.slice(0, 50).map((message) => ({ ...message, id: `new ${message.id}`, account_id: account })),
        { script, url: proxy.url },
      )
      await proxy.close()
      expect((await booksOf(account)).reserved).toBeGreaterThan(0)
    })

    it('gives a message up for now if no answer comes, and continues it with its run, but not without', async () => {
      const message = { id: `${name} 1000`, account_id: base + 200, amount: 3, text: 'late' }
      await quotaOf(message.account_id)
      let requests = 0
      bench.proxy.rule = () => ((requests += 1) === 1 ? 'lose' : 'reset before')
      const [unknown] = await resultsOf([message])
      expect(unknown).toEqual({ id: message.id, result: 'unknown', run: expect.any(String) })
      expect(requests).toBe(7)
      bench.proxy.rule = () => 'pass'
      expect(await resultsOf([message])).toEqual([{ id: message.id, result: 'seen', state: 'reserved' }])
      expect(sentTo()).toEqual([])
      expect(await booksOf(message.account_id)).toEqual({ used: 0, reserved: 3, states: ['reserved'] })
      const again = { ...message, run: unknown!['run'] as string }
      expect(await resultsOf([again, again])).toEqual([
        { id: message.id, result: 'sent' },
        { id: message.id, result: 'seen', state: 'committed' },
      ])
      expect(sentTo()).toEqual([message.id])
      expect(await booksOf(message.account_id)).toEqual({ used: 3, reserved: 0, states: ['committed'] })
    })

    it('charges nothing while the provider cannot be reached', async () => {
      const message = { id: `${name} 1001`, account_id: base + 250, amount: 2, text: 'nobody there' }
      await quotaOf(message.account_id)
      const PROVIDER_URL = `http://127.0.0.1:${await freePort()}/send`
      expect(await resultsOf([message], { PROVIDER_URL })).toEqual([{ id: message.id, result: 'not sent' }])
      expect(await booksOf(message.account_id)).toEqual({ used: 0, reserved: 0, states: ['released'] })
    })

    it('reads large ids and blank lines, and keeps the query of the provider', async () => {
      const account = base + 260
      await quotaOf(account)
      const ids = [0, 1].map((number) => 2n ** 63n + BigInt(base + number))
      const ended = await runProgram(program, [file], {
        input: ids.map((id) => `{"id": ${id}, "account_id": ${account}}\n\n`).join(''),
        env: { QUOTA_URL: bench.proxy.url, QUOTA_TOKEN: ADMIN, PROVIDER_URL: `${provider.url('/send')}?route=a` },
      })
      expect(ended).toMatchObject({ code: 0, stderr: '' })
      expect(ended.stdout.match(/"sent"/g)).toHaveLength(2)
      expect([provider.of('/send?route=a').length, (await booksOf(account)).used]).toEqual([2, 2])
    })

    it('tells what is not settled after it was sent', async () => {
      const message = { id: `${name} 1002`, account_id: base + 300, amount: 1, text: 'lost commit' }
      await quotaOf(message.account_id)
      bench.proxy.rule = (head) => (/\/commit /.test(head) ? 'reset before' : 'pass')
      const unsettled = expect.stringMatching(/^[0-9a-f-]{36}: .*no answer/)
      expect(await resultsOf([message])).toEqual([{ id: message.id, result: 'sent', unsettled }])
    })

    it('says which message the service does not take, and sends those behind it', async () => {
      const account_id = base + 350
      await quotaOf(account_id)
      const [first, ...others] = times(4).map((n) => ({ id: `${name} ${1100 + n}`, account_id, amount: 1, text: 'x' }))
      const [none, reused, last] = others as [Message, Message, Message]
      const results = await resultsOf([first!, { ...none, amount: 0 }, { ...reused, id: first!.id, amount: 2 }, last])
      const invalid = (code: string): object => ({ result: 'invalid', problem: expect.objectContaining({ code }) })
      expect(results).toEqual([
        { id: first!.id, result: 'sent' },
        { id: none.id, ...invalid('validation_failed') },
        { id: first!.id, ...invalid('idempotency_key_reused') },
        { id: last.id, result: 'sent' },
      ])
      expect(await booksOf(account_id)).toEqual({ used: 2, reserved: 0, states: ['committed', 'committed'] })
    })

    it('stops at the first message, after one request, if the token is wrong; and names what is not set', async () => {
      let requests = 0
      bench.proxy.rule = (head) => {
        // A body that comes after the answer is no request.
        if (head.startsWith('POST ')) requests += 1
        return 'pass'
      }
      const wrong = await run(messages, { token: 'qs_usage_wrong' })
      expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('unauthenticated') })
      expect([requests, sentTo()]).toEqual([1, []])
      expect(await runProgram(program, [file])).toEqual({
        code: 1,
        stdout: '',
        stderr: 'not set: QUOTA_URL, QUOTA_TOKEN, PROVIDER_URL\n',
      })
    })
  })
})
