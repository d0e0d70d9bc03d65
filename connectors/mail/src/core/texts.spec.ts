import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { counted, readTexts } from './texts.js'

const ENGLISH = readFileSync('connectors/mail/texts/en.txt', 'utf8')
const mistakesOf = (file: string): string => {
  try {
    readTexts(file)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

describe('a language file', () => {
  it('has every text', () => {
    const texts = readTexts(ENGLISH.replaceAll('\n', '\r\n'))
    expect(texts.unreachable).toBe('Sending quotas cannot be checked at the moment; please try again later')
    expect([0, 1, 2].map((n) => counted(texts.recipients, n))).toEqual(['0 recipients', '1 recipient', '2 recipients'])
  })

  it.each([
    ['never = a', 'never = {when}', 'line 13: never has no {when}: {requested} {left} {contact}'],
    ['unreachable = a', 'unreachable = bitte später', 'line 18: unreachable must be ASCII, and not empty'],
    ['unreachable = a', 'unreachable =', 'line 18: unreachable must be ASCII, and not empty'],
    ['unreachable = a', `unreachable = ${'x'.repeat(251)}`, 'line 18: unreachable has more than 250 characters'],
    ['unreachable = a', 'unreachable: a', 'line 18: must be NAME = TEXT; unreachable is missing'],
    ['unreachable = a', 'unreachable = {contact', 'line 18: unreachable has no {contact}'],
    ['months = a', 'months = January', 'line 10: months must be 12 words'],
    ['days = a', 'days = in {n} days', 'line 9: days must be ONE | SEVERAL'],
    ['kb = a', 'kilobytes = {n} kB', 'line 6: kilobytes is not known; kb is missing'],
    ['kb = a', 'messages = {n} | {n}', 'line 6: messages is there twice; kb is missing'],
  ])('with a mistake in it names the line: %s becomes %s', (of, line, mistake) => {
    const [name = ''] = of.split(' ', 1)
    const file = ENGLISH.replace(new RegExp(`^${name} = .*$`, 'm'), () => line)
    expect(file).not.toBe(ENGLISH)
    expect(mistakesOf(file)).toContain(mistake)
  })

  it('names all mistakes', () => {
    expect(mistakesOf('a\nnever = {b}{c}').split('; ')).toEqual([
      'line 1: must be NAME = TEXT',
      'line 2: never has no {b}: {requested} {left} {contact}',
      'line 2: never has no {c}: {requested} {left} {contact}',
      ...[...ENGLISH.matchAll(/^(\w+) =/gm)]
        .map(([, name]) => name)
        .filter((name) => name !== 'never')
        .map((name) => `${name} is missing`),
    ])
  })
})
