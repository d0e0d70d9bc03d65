import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { readTexts } from './texts.js'
import { moment, noQuota, pause, refusal, unknownSender, unreachable, type Wording } from './words.js'

const NOW = Date.parse('2026-11-23T12:00:00Z')
const [TEXTS, GERMAN] = ['en', 'de'].map((name) => readTexts(readFileSync(`connectors/mail/texts/${name}.txt`, 'utf8')))
const WORDING: Wording = { texts: TEXTS!, unit: 'recipients', contact: 'your administrator', timeZone: 'UTC' }

describe('an answer', () => {
  it('says when a message fits again', () => {
    const shortage = { requested: 12, remaining: 3, refillsAt: '2026-12-01T00:00:00.000Z' }
    expect(refusal(shortage, NOW, WORDING)).toEqual({
      answer: 'defer',
      text: 'Sending quota exceeded: 12 recipients asked for, 3 left. This fits again in 8 days, on 1 December 2026 at 00:00 UTC',
    })
  })

  it('is for ever where nobody but an administrator helps', () => {
    expect(refusal({ requested: 1, remaining: 0, refillsAt: null }, NOW, WORDING)).toEqual({
      answer: 'reject',
      text: 'Sending quota exceeded: 1 recipient asked for, 0 left. Waiting does not help; please ask your administrator',
    })
  })

  it('says how much fits at a time where the message alone is too large', () => {
    const shortage = { requested: 5, remaining: 3, refillsAt: null }
    expect(refusal(shortage, NOW, WORDING).text).toMatch(
      /5 recipients asked for, 3 left\. Waiting does not help; send to at most 3 at a time, or ask your administrator$/,
    )
    expect(refusal(shortage, NOW, { ...WORDING, unit: 'kb', contact: 'https://mail.example.org/quota' }).text).toMatch(
      /5 kB asked for, 3 left\. Waiting does not help; send at most 3 kB at a time, or ask https:\/\/mail.example.org\/quota$/,
    )
    expect(refusal({ ...shortage, requested: 1, remaining: 0 }, NOW, { ...WORDING, unit: 'messages' }).text).toContain(
      '1 message asked for, 0 left',
    )
  })

  it.each([
    [-5, 'in 1 minute'],
    [1, 'in 1 minute'],
    [60_000, 'in 1 minute'],
    [60_001, 'in 2 minutes'],
    [60 * 60_000, 'in 60 minutes'],
    [89.5 * 60_000, 'in 90 minutes'],
    [91 * 60_000, 'in 2 hours'],
    [35.5 * 3_600_000, 'in 36 hours'],
    [36 * 3_600_000, 'in 2 days'],
    [365 * 86_400_000, 'in 365 days'],
  ])('names %d ms as %s', (ms, words) => {
    expect(pause(ms, TEXTS!)).toBe(words)
  })

  it.each([
    ['2026-12-01T00:00:00.000Z', 'UTC', '1 December 2026 at 00:00 UTC'],
    ['2026-12-01T00:00:00.001Z', 'UTC', '1 December 2026 at 00:01 UTC'],
    ['2026-11-30T23:00:00.000Z', 'Europe/Berlin', '1 December 2026 at 00:00 CET'],
  ])('names %s in %s as %s', (at, zone, words) => {
    expect(moment(Date.parse(at), zone, TEXTS!)).toBe(words)
  })

  it('is one line of ASCII that a reply of SMTP has room for', () => {
    const zones = fc.constantFrom('UTC', 'Asia/Kathmandu', 'America/St_Johns')
    const units = fc.nat({ max: 10 ** 12 })
    fc.assert(
      fc.property(
        units,
        units,
        fc.integer({ min: 0, max: 253_402_300_799_999 }),
        zones,
        (requested, remaining, at, zone) => {
          const refillsAt = new Date(at).toISOString()
          for (const texts of [TEXTS!, GERMAN!])
            for (const at of [refillsAt, null]) {
              const wording = { ...WORDING, texts, timeZone: zone, contact: 'x'.repeat(100) }
              expect(refusal({ requested, remaining, refillsAt: at }, NOW, wording).text).toMatch(/^[ -~]{1,320}$/)
            }
        },
      ),
    )
  })

  it('has another language, in ASCII', () => {
    const wording = { ...WORDING, texts: GERMAN!, contact: GERMAN!.contact, timeZone: 'Europe/Berlin' }
    const shortage = { requested: 12, remaining: 3, refillsAt: '2027-03-01T00:00:00.000Z' }
    expect(refusal(shortage, NOW, wording).text).toBe(
      'Sendekontingent erschoepft: 12 Empfaenger angefragt, noch 3 frei. Das passt wieder in 98 Tagen, am 1. Maerz 2027 um 01:00 CET',
    )
    expect(refusal({ requested: 2, remaining: 1, refillsAt: null }, NOW, { ...wording, unit: 'kb' }).text).toMatch(
      /^Sendekontingent erschoepft: 2 kB .* senden Sie hoechstens 1 kB auf einmal, oder wenden Sie sich an Ihre Verwaltung$/,
    )
  })

  it('to what cannot be asked is the setting', () => {
    expect(unreachable('pass', WORDING)).toEqual({ answer: 'pass', text: '' })
    expect(unreachable('defer', WORDING)).toMatchObject({
      answer: 'defer',
      text: expect.stringMatching(/^Sending quotas cannot/),
    })
    for (const text of [noQuota, unknownSender]) {
      expect(text('pass', WORDING)).toEqual({ answer: 'pass', text: '' })
      for (const answer of ['reject', 'defer'] as const)
        expect(text(answer, WORDING)).toEqual({
          answer,
          text: expect.stringMatching(/; please ask your administrator$/),
        })
    }
  })
})
