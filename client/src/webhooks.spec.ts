import { describe, expect, it } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { verifyWebhook, WebhookRefused } from './webhooks.js'

const secretOf = (text: string): string => `whsec_${Buffer.from(text.padEnd(32, '-')).toString('base64')}`
const SECRET = secretOf('ours')
const OTHER = secretOf('another')
const AT = Date.parse('2026-11-23T12:00:00.000Z')
const now = (): number => AT
const BODY = JSON.stringify({
  type: 'quota.threshold_reached',
  timestamp: '2026-11-23T12:00:00.000Z',
  data: {
    id: 'e-1',
    type: 'quota.threshold_reached',
    account_id: 7,
    quota_id: 3,
    data: { operation_id: null, label: 'Büro' },
  },
})

function sent(body = BODY, secrets = [SECRET], at = AT): Record<string, string> {
  const signatures = secrets.map((secret) => new Webhook(secret).sign('e-1', new Date(at), body))
  return {
    'webhook-id': 'e-1',
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': signatures.join(' '),
  }
}

describe('a webhook', () => {
  it('is told as programs write it, whatever its headers come in', async () => {
    const expected = {
      id: 'e-1',
      type: 'quota.threshold_reached',
      data: { accountId: 7, data: { operationId: null, label: 'Büro' } },
    }
    expect(await verifyWebhook(sent(), BODY, SECRET, { now })).toMatchObject(expected)
    expect(await verifyWebhook(new Headers(sent()), Buffer.from(BODY), [SECRET], { now })).toMatchObject(expected)
    const upper = Object.fromEntries(Object.entries(sent()).map(([name, value]) => [name.toUpperCase(), value]))
    expect(await verifyWebhook(upper, new TextEncoder().encode(BODY), SECRET, { now })).toMatchObject(expected)
  })

  it('is signed by the old secret or the new one while they are changed', async () => {
    for (const [signing, known] of [
      [[SECRET, OTHER], [OTHER]],
      [[SECRET, OTHER], [SECRET]],
      [[SECRET], [OTHER, SECRET]],
    ] as const)
      expect(await verifyWebhook(sent(BODY, [...signing]), BODY, known, { now })).toMatchObject({ id: 'e-1' })
  })

  it('is verified with ten of its signatures at most, and none of another length', async () => {
    const own = sent()['webhook-signature']
    const signedBy = async (others: string[]) =>
      verifyWebhook({ ...sent(), 'webhook-signature': [...others, own].join(' ') }, BODY, SECRET, { now })
    const other = `v1,${Buffer.alloc(32).toString('base64')}`
    expect(await signedBy([...Array<string>(1_000).fill('v1,AA=='), ...Array<string>(9).fill(other)])).toBeDefined()
    await expect(signedBy(Array<string>(10).fill(other))).rejects.toThrow(WebhookRefused)
  })

  it.each<[string, Record<string, unknown>, string, string]>([
    ['another secret', sent(BODY, [OTHER]), BODY, SECRET],
    ['another body', sent(), `${BODY} `, SECRET],
    ['another id', { ...sent(), 'webhook-id': 'e-2' }, BODY, SECRET],
    ['another time', { ...sent(), 'webhook-timestamp': String(AT / 1000 + 1) }, BODY, SECRET],
    ['a time long ago', sent(BODY, [SECRET], AT - 301_000), BODY, SECRET],
    ['a time to come', sent(BODY, [SECRET], AT + 301_000), BODY, SECRET],
    ['no time', { ...sent(), 'webhook-timestamp': 'now' }, BODY, SECRET],
    ['no signature', { ...sent(), 'webhook-signature': undefined }, BODY, SECRET],
    ['an empty signature', { ...sent(), 'webhook-signature': 'v1,' }, BODY, SECRET],
    ['no base64', { ...sent(), 'webhook-signature': 'v1,%%%' }, BODY, SECRET],
    [
      'a signature of another kind',
      { ...sent(), 'webhook-signature': sent()['webhook-signature']!.replace('v1', 'v1a') },
      BODY,
      SECRET,
    ],
    ['several ids', { ...sent(), 'webhook-id': ['e-1', 'e-1'] }, BODY, SECRET],
    ['a body that is no JSON', sent('hello'), 'hello', SECRET],
  ])('is refused with %s', async (_what, headers, body, secret) => {
    await expect(verifyWebhook(headers as Record<string, string>, body, secret, { now })).rejects.toThrow(
      WebhookRefused,
    )
  })

  it('is refused where standardwebhooks refuses it, and taken where that takes it', async () => {
    const base = sent()['webhook-signature']!
    for (let place = 3; place < base.length; place += 1) {
      const changed = base.slice(0, place) + (base[place] === 'A' ? 'B' : 'A') + base.slice(place + 1)
      const headers = { ...sent(BODY, [SECRET], Date.now()), 'webhook-signature': changed }
      const [ours, theirs] = [
        await verifyWebhook(headers, BODY, SECRET).then(
          () => true,
          () => false,
        ),
        await Promise.resolve()
          .then(() => new Webhook(SECRET).verify(BODY, headers))
          .then(
            () => true,
            () => false,
          ),
      ]
      expect([place, ours]).toEqual([place, theirs])
    }
    const good = sent(BODY, [SECRET], Date.now())
    expect(new Webhook(SECRET).verify(BODY, good)).toMatchObject({ data: { quota_id: 3 } })
    expect(await verifyWebhook(good, BODY, SECRET)).toMatchObject({ data: { quotaId: 3 } })
  })

  it('needs a secret that is one', async () => {
    for (const secret of ['', 'whsec_', 'whsec_%%%'])
      await expect(verifyWebhook(sent(), BODY, secret, { now })).rejects.toThrow(TypeError)
  })
})
