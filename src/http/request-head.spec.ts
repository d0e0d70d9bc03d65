import { expect, it } from '@jest/globals'
import type { Request } from 'express'
import { ServiceError } from '../common/service-error.js'
import { checkRequestHead } from './request-head.js'
import { parseQuery } from './query.js'

/** What is wrong with a head, by field. */
function mistakes(rawHeaders: string[], httpVersion = '1.1'): string[] {
  const headers: Record<string, string> = {}
  for (let at = 0; at < rawHeaders.length; at += 2) headers[rawHeaders[at]!.toLowerCase()] ??= rawHeaders[at + 1]!
  try {
    checkRequestHead({ url: '/', headers, rawHeaders, httpVersion } as unknown as Request)
    return []
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return (error.fields ?? []).map(({ field, message }) => `${field} ${message}`)
  }
}

it('wants one Host that is one', () => {
  expect(mistakes([])).toEqual(['Host is required in HTTP/1.1'])
  expect(mistakes([], '1.0')).toEqual([])
  expect(mistakes(['Host', 'a', 'X', 'y', 'hOST', 'a'])).toEqual(['Host may be sent only once'])
  for (const host of ['a', 'a:1', 'a.b.', '[::1]', '[::1]:80', '1.2.3.4', 'a_b', '%C3%A4', 'a:']) {
    expect(mistakes(['Host', host])).toEqual([])
  }
  for (const host of [
    '',
    ' ',
    'a b',
    'a/',
    'a?',
    'a#',
    'a@b',
    'ä',
    'a:b',
    'a:123456',
    'a:1:2',
    '[::1',
    '::1',
    '[a]x',
    'a,b/',
  ]) {
    expect(mistakes(['Host', host])).toEqual(['Host must be a host with an optional port'])
  }
})

/** The time that this process has computed, in milliseconds: a busy machine does not count. */
function computedMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

it('takes time that grows with the length of a Host alone', () => {
  const time = (length: number) => {
    const host = `${'a.'.repeat(length / 2)}/`
    const took = Array.from({ length: 5 }, () => {
      const began = computedMs()
      mistakes(['Host', host])
      return computedMs() - began
    })
    return Math.min(...took)
  }
  time(1_000)
  expect(time(1_600_000)).toBeLessThan(100 * Math.max(time(100_000), 0.1))
})

it('takes a body in chunks, and in no other coding', () => {
  const host = ['Host', 'a']
  expect(mistakes([...host, 'Transfer-Encoding', 'Chunked '])).toEqual([])
  for (const coding of ['gzip, chunked', 'identity', 'chunked, chunked', '']) {
    expect(mistakes([...host, 'Transfer-Encoding', coding])).toEqual(['Transfer-Encoding may be chunked, in HTTP/1.1'])
  }
  expect(mistakes([...host, 'Transfer-Encoding', 'chunked'], '1.0')).toHaveLength(1)
})

it('reads every parameter of a query', () => {
  expect({ ...parseQuery('a=%C3%A4&a=b+c&%ff=%fe&c') }).toEqual({
    a: ['ä', 'b c'],
    '\ud800': '\ud800',
    c: '',
  })
  expect(Object.keys(parseQuery(Array.from({ length: 5_000 }, (_, at) => `p${at}`).join('&')))).toHaveLength(5_000)
  expect({ ...parseQuery(undefined) }).toEqual({})
})

it('reads what encodes no text about as fast as what does', () => {
  const time = (text: string) => {
    const took = Array.from({ length: 7 }, () => {
      const began = computedMs()
      parseQuery(text)
      return computedMs() - began
    })
    return Math.min(...took)
  }
  expect(time('%ff&'.repeat(4_000))).toBeLessThan(10 * Math.max(1, time('%41&'.repeat(4_000))))
})
