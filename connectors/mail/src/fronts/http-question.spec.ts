import { describe, expect, it } from '@jest/globals'
import { Malformed } from '../core/question.js'
import { questionOfHook, questionOfMessage } from './http-question.js'

const isLocal = (address: string): boolean => address.endsWith('@example.org')

/** As Stalwart 0.12 sends it at the stage `data`. */
const HOOK = {
  context: {
    stage: 'data',
    sasl: { login: 'ann' },
    client: { ip: '192.0.2.7', port: 54321, ptr: null, helo: 'client.test', activeConnections: 1 },
    server: { name: 'Stalwart', port: 465, ip: '192.0.2.1' },
    queue: { id: '2f5d9' },
    protocol: { version: 1 },
  },
  envelope: {
    from: { address: 'ann@example.org' },
    to: [{ address: 'bob@example.org' }, { address: 'eve@elsewhere.test' }],
  },
  message: { headers: [['Subject', ' test\r\n']], contents: 'text', size: 1234 },
}

describe('a question over HTTP', () => {
  it('is read from a hook', () => {
    expect(questionOfHook(HOOK, isLocal)).toEqual({
      state: 'END-OF-MESSAGE',
      instance: expect.stringMatching(/^[0-9a-f-]{36}$/),
      repeats: false,
      queueId: '2f5d9',
      sender: 'ann@example.org',
      saslUsername: 'ann',
      clientAddress: '192.0.2.7',
      recipient: '',
      recipientCount: 2,
      localCount: 1,
      size: 1234,
    })
  })

  it('is none at other stages of a hook, where parts are absent', () => {
    expect(questionOfHook({ context: { stage: 'EHLO' } }, isLocal)).toMatchObject({
      state: 'EHLO',
      recipientCount: 0,
      sender: '',
    })
  })

  it('is read from the form for plugins, which may name the message', () => {
    const body = { id: 'a1', stage: 'data', login: 'ann', sender: 's', client_address: '::1', recipients: 3, size: 9 }
    expect(questionOfMessage({ ...body, queue_id: 'Q' }, isLocal)).toEqual({
      state: 'DATA',
      instance: 'a1',
      repeats: true,
      queueId: 'Q',
      sender: 's',
      saslUsername: 'ann',
      clientAddress: '::1',
      recipient: '',
      recipientCount: 3,
      localCount: 0,
      size: 9,
    })
    expect(questionOfMessage({ recipients: 1 }, isLocal)).toMatchObject({ state: 'END-OF-MESSAGE', repeats: false })
    const recipients = ['bob@example.org', 'eve@elsewhere.test', 'eve@elsewhere.test']
    expect(questionOfMessage({ recipients }, isLocal)).toMatchObject({ recipientCount: 3, localCount: 1 })
  })

  it.each([
    [questionOfMessage, [], ['the body must be an object']],
    [
      questionOfMessage,
      { login: 7, recipients: 1.5, size: -1, stage: 'mail', user: 'ann' },
      ['user is not', 'stage must be', 'login must', 'recipients must', 'size must'],
    ],
    [questionOfHook, { context: 1 }, ['context must be an object', 'context.stage is required']],
    [questionOfMessage, { 'ann@example.org': 1 }, [/^a member is not known$/]],
    [questionOfMessage, { recipients: ['bob', 7] }, ['recipients must be a string']],
    [questionOfMessage, { id: 'x'.repeat(501) }, [/^id must have at most 500 characters$/]],
    [
      questionOfHook,
      { context: { stage: 'data' }, envelope: { to: ['bob', { address: 7 }] } },
      ['envelope.to must be an object', 'envelope.to.address must be a string'],
    ],
    [
      questionOfHook,
      { context: { stage: 'data', sasl: 'ann' }, envelope: { from: { address: 1 }, to: 'bob' } },
      ['context.sasl must', 'envelope.from.address must', 'envelope.to must be an array'],
    ],
  ])('is refused with every mistake', (read, body, mistakes) => {
    expect(() => read(body, isLocal)).toThrow(Malformed)
    for (const mistake of mistakes) expect(() => read(body, isLocal)).toThrow(mistake)
  })
})
