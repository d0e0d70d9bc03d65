import { afterEach, describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { formatInstant, type Instant, MAX_INSTANT } from '../common/instant.js'
import { CYCLE_UNITS, cycleAt, type CycleRule, type CycleUnit, isReset, isTimeZone, resetsOf } from './cycle.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const at = (text: string): Instant => Date.parse(text)
const utc = (unit: CycleUnit, anchor: string): CycleRule => ({ unit, timeZone: 'UTC', anchor: at(anchor) })

/**
 * What reset n is, for some n. Worked out with Python's zoneinfo from the same rule (a naive local time plus n units,
 * fold=0), so by other code and other zone tables than the ones under test. Only years whose zone rules can no longer
 * change, where the zone is not UTC.
 */
const RESETS: readonly (readonly [title: string, rule: CycleRule, resets: string])[] = [
  [
    '02:30 skipped on March 10 is read as 03:30',
    { unit: 'day', timeZone: 'America/New_York', anchor: at('2024-03-08T07:30Z') },
    `1=2024-03-09T07:30Z 2=2024-03-10T07:30Z 3=2024-03-11T06:30Z 4=2024-03-12T06:30Z`,
  ],
  [
    'the month that lands in the gap',
    { unit: 'month', timeZone: 'America/New_York', anchor: at('2024-01-10T07:30Z') },
    `1=2024-02-10T07:30Z 2=2024-03-10T07:30Z 3=2024-04-10T06:30Z 4=2024-05-10T06:30Z`,
  ],
  [
    'the week that lands in the gap',
    { unit: 'week', timeZone: 'America/New_York', anchor: at('2024-02-25T07:30Z') },
    `1=2024-03-03T07:30Z 2=2024-03-10T07:30Z 3=2024-03-17T06:30Z 4=2024-03-24T06:30Z`,
  ],
  [
    'the year that lands in the gap',
    { unit: 'year', timeZone: 'America/New_York', anchor: at('2022-03-10T07:30Z') },
    `1=2023-03-10T07:30Z 2=2024-03-10T07:30Z 3=2025-03-10T06:30Z 4=2026-03-10T06:30Z`,
  ],
  [
    '01:30 that comes twice on November 3 is the first',
    { unit: 'day', timeZone: 'America/New_York', anchor: at('2024-11-01T05:30Z') },
    `1=2024-11-02T05:30Z 2=2024-11-03T05:30Z 3=2024-11-04T06:30Z 4=2024-11-05T06:30Z`,
  ],
  [
    'an anchor in the second 01:30 stays, the next are as ever',
    { unit: 'day', timeZone: 'America/New_York', anchor: at('2024-11-03T06:30Z') },
    `1=2024-11-04T06:30Z 2=2024-11-05T06:30Z 3=2024-11-06T06:30Z`,
  ],
  [
    'an anchor in the second 01:30, by years',
    { unit: 'year', timeZone: 'America/New_York', anchor: at('2019-11-03T06:30Z') },
    `1=2020-11-03T06:30Z 2=2021-11-03T05:30Z 3=2022-11-03T05:30Z 4=2023-11-03T05:30Z 5=2024-11-03T05:30Z
     6=2025-11-03T06:30Z`,
  ],
  [
    'an anchor in the second 01:30, by weeks',
    { unit: 'week', timeZone: 'America/New_York', anchor: at('2024-11-03T06:30Z') },
    `1=2024-11-10T06:30Z 2=2024-11-17T06:30Z`,
  ],
  [
    'midnight by weeks, over both changes',
    { unit: 'week', timeZone: 'America/New_York', anchor: at('2024-02-26T05:00Z') },
    `1=2024-03-04T05:00Z 2=2024-03-11T04:00Z 3=2024-03-18T04:00Z 34=2024-10-21T04:00Z 35=2024-10-28T04:00Z
     36=2024-11-04T05:00Z 37=2024-11-11T05:00Z`,
  ],
  [
    '02:00 itself, the first skipped instant',
    { unit: 'day', timeZone: 'Europe/Berlin', anchor: at('2024-03-29T01:00Z') },
    `1=2024-03-30T01:00Z 2=2024-03-31T01:00Z 3=2024-04-01T00:00Z 4=2024-04-02T00:00Z`,
  ],
  [
    '02:30 skipped on March 31',
    { unit: 'day', timeZone: 'Europe/Berlin', anchor: at('2024-03-29T01:30Z') },
    `1=2024-03-30T01:30Z 2=2024-03-31T01:30Z 3=2024-04-01T00:30Z 4=2024-04-02T00:30Z`,
  ],
  [
    '02:30 that comes twice on October 27',
    { unit: 'day', timeZone: 'Europe/Berlin', anchor: at('2024-10-25T00:30Z') },
    `1=2024-10-26T00:30Z 2=2024-10-27T00:30Z 3=2024-10-28T01:30Z 4=2024-10-29T01:30Z`,
  ],
  [
    'an anchor in the second 02:30',
    { unit: 'month', timeZone: 'Europe/Berlin', anchor: at('2024-10-27T01:30Z') },
    `1=2024-11-27T01:30Z 2=2024-12-27T01:30Z 3=2025-01-27T01:30Z 4=2025-02-27T01:30Z 5=2025-03-27T01:30Z
     6=2025-04-27T00:30Z`,
  ],
  [
    'a month end over the change',
    { unit: 'month', timeZone: 'Europe/Berlin', anchor: at('2023-10-30T23:00Z') },
    `1=2023-11-29T23:00Z 2=2023-12-30T23:00Z 3=2024-01-30T23:00Z 4=2024-02-28T23:00Z 5=2024-03-30T23:00Z
     6=2024-04-29T22:00Z 7=2024-05-30T22:00Z 8=2024-06-29T22:00Z 9=2024-07-30T22:00Z 10=2024-08-30T22:00Z
     11=2024-09-29T22:00Z 12=2024-10-30T23:00Z 13=2024-11-29T23:00Z`,
  ],
  [
    'a clock change of 30 minutes skips 02:15',
    { unit: 'day', timeZone: 'Australia/Lord_Howe', anchor: at('2024-10-03T15:45Z') },
    `1=2024-10-04T15:45Z 2=2024-10-05T15:45Z 3=2024-10-06T15:15Z 4=2024-10-07T15:15Z`,
  ],
  [
    'a clock change of 30 minutes repeats 01:45',
    { unit: 'day', timeZone: 'Australia/Lord_Howe', anchor: at('2024-04-04T14:45Z') },
    `1=2024-04-05T14:45Z 2=2024-04-06T14:45Z 3=2024-04-07T15:15Z 4=2024-04-08T15:15Z`,
  ],
  [
    'an anchor in the second 01:45',
    { unit: 'day', timeZone: 'Australia/Lord_Howe', anchor: at('2024-04-06T15:15Z') },
    `1=2024-04-07T15:15Z 2=2024-04-08T15:15Z 3=2024-04-09T15:15Z`,
  ],
  [
    'midnight skipped',
    { unit: 'day', timeZone: 'Asia/Beirut', anchor: at('2024-03-28T22:00Z') },
    `1=2024-03-29T22:00Z 2=2024-03-30T22:00Z 3=2024-03-31T21:00Z 4=2024-04-01T21:00Z`,
  ],
  [
    '23:30 comes twice',
    { unit: 'day', timeZone: 'Asia/Beirut', anchor: at('2024-10-24T20:30Z') },
    `1=2024-10-25T20:30Z 2=2024-10-26T20:30Z 3=2024-10-27T21:30Z 4=2024-10-28T21:30Z`,
  ],
  [
    'an anchor in the second 23:30',
    { unit: 'day', timeZone: 'Asia/Beirut', anchor: at('2024-10-26T21:30Z') },
    `1=2024-10-27T21:30Z 2=2024-10-28T21:30Z 3=2024-10-29T21:30Z`,
  ],
  [
    'midnight skipped, by months',
    { unit: 'month', timeZone: 'Asia/Beirut', anchor: at('2023-12-30T22:00Z') },
    `1=2024-01-30T22:00Z 2=2024-02-28T22:00Z 3=2024-03-30T22:00Z 4=2024-04-29T21:00Z 5=2024-05-30T21:00Z`,
  ],
  [
    'midnight skipped',
    { unit: 'day', timeZone: 'America/Havana', anchor: at('2024-03-08T05:00Z') },
    `1=2024-03-09T05:00Z 2=2024-03-10T05:00Z 3=2024-03-11T04:00Z 4=2024-03-12T04:00Z`,
  ],
  [
    'midnight comes twice',
    { unit: 'day', timeZone: 'America/Havana', anchor: at('2024-11-01T04:00Z') },
    `1=2024-11-02T04:00Z 2=2024-11-03T04:00Z 3=2024-11-04T05:00Z 4=2024-11-05T05:00Z`,
  ],
  [
    'an anchor in the second midnight',
    { unit: 'week', timeZone: 'America/Havana', anchor: at('2024-11-03T05:00Z') },
    `1=2024-11-10T05:00Z 2=2024-11-17T05:00Z 3=2024-11-24T05:00Z`,
  ],
  [
    'the clock goes back before Ramadan and forward after it',
    { unit: 'day', timeZone: 'Africa/Casablanca', anchor: at('2024-03-08T01:30Z') },
    `1=2024-03-09T01:30Z 2=2024-03-10T01:30Z 3=2024-03-11T02:30Z 4=2024-03-12T02:30Z`,
  ],
  [
    '02:30 skipped after Ramadan',
    { unit: 'day', timeZone: 'Africa/Casablanca', anchor: at('2024-04-12T02:30Z') },
    `1=2024-04-13T02:30Z 2=2024-04-14T02:30Z 3=2024-04-15T01:30Z`,
  ],
  [
    'by months over Ramadan',
    { unit: 'month', timeZone: 'Africa/Casablanca', anchor: at('2024-01-31T11:00Z') },
    `1=2024-02-29T11:00Z 2=2024-03-31T12:00Z 3=2024-04-30T11:00Z 4=2024-05-31T11:00Z 5=2024-06-30T11:00Z`,
  ],
  [
    'the day of December 30 left out: a cycle of no length',
    { unit: 'day', timeZone: 'Pacific/Apia', anchor: at('2011-12-27T20:00Z') },
    `1=2011-12-28T20:00Z 2=2011-12-29T20:00Z 3=2011-12-30T20:00Z 4=2011-12-30T20:00Z 5=2011-12-31T20:00Z
     6=2012-01-01T20:00Z`,
  ],
  [
    'months that end on the day left out',
    { unit: 'month', timeZone: 'Pacific/Apia', anchor: at('2011-10-30T20:00Z') },
    `1=2011-11-30T20:00Z 2=2011-12-30T20:00Z 3=2012-01-29T20:00Z 4=2012-02-28T20:00Z`,
  ],
  [
    'another zone that left a day out',
    { unit: 'day', timeZone: 'Pacific/Kwajalein', anchor: at('1993-08-19T20:00Z') },
    `1=1993-08-20T20:00Z 2=1993-08-21T20:00Z 3=1993-08-21T20:00Z 4=1993-08-22T20:00Z`,
  ],
  [
    'a zone of half hours',
    { unit: 'month', timeZone: 'Asia/Kolkata', anchor: at('2024-01-30T18:30Z') },
    `1=2024-02-28T18:30Z 2=2024-03-30T18:30Z 3=2024-04-29T18:30Z 4=2024-05-30T18:30Z`,
  ],
  [
    '02:45 to 03:45 skipped in a zone of quarters',
    { unit: 'day', timeZone: 'Pacific/Chatham', anchor: at('2024-09-26T14:15Z') },
    `1=2024-09-27T14:15Z 2=2024-09-28T14:15Z 3=2024-09-29T13:15Z 4=2024-09-30T13:15Z`,
  ],
  [
    'a zone whose winter time is the exception',
    { unit: 'month', timeZone: 'Europe/Dublin', anchor: at('2024-01-31T01:30Z') },
    `1=2024-02-29T01:30Z 2=2024-03-31T01:30Z 3=2024-04-30T00:30Z 4=2024-05-31T00:30Z 5=2024-06-30T00:30Z
     6=2024-07-31T00:30Z 7=2024-08-31T00:30Z 8=2024-09-30T00:30Z 9=2024-10-31T01:30Z 10=2024-11-30T01:30Z
     11=2024-12-31T01:30Z`,
  ],
  [
    'elapsed hours over the spring change',
    { unit: 'hour', timeZone: 'America/New_York', anchor: at('2024-03-10T05:30Z') },
    `1=2024-03-10T06:30Z 2=2024-03-10T07:30Z 3=2024-03-10T08:30Z 4=2024-03-10T09:30Z`,
  ],
  [
    'elapsed hours over the autumn change',
    { unit: 'hour', timeZone: 'America/New_York', anchor: at('2024-11-03T04:30Z') },
    `1=2024-11-03T05:30Z 2=2024-11-03T06:30Z 3=2024-11-03T07:30Z 4=2024-11-03T08:30Z`,
  ],
  [
    'elapsed hours over a change of 30 minutes',
    { unit: 'hour', timeZone: 'Australia/Lord_Howe', anchor: at('2024-10-05T14:45Z') },
    `1=2024-10-05T15:45Z 2=2024-10-05T16:45Z 3=2024-10-05T17:45Z`,
  ],
  [
    'a leap day by years',
    { unit: 'year', timeZone: 'UTC', anchor: at('2024-02-29T12:00Z') },
    `1=2025-02-28T12:00Z 2=2026-02-28T12:00Z 3=2027-02-28T12:00Z 4=2028-02-29T12:00Z 5=2029-02-28T12:00Z
     8=2032-02-29T12:00Z 72=2096-02-29T12:00Z 75=2099-02-28T12:00Z 76=2100-02-28T12:00Z 77=2101-02-28T12:00Z
     80=2104-02-29T12:00Z 376=2400-02-29T12:00Z`,
  ],
  [
    'a leap day by months',
    { unit: 'month', timeZone: 'UTC', anchor: at('2028-02-29T00:00Z') },
    `1=2028-03-29T00:00Z 12=2029-02-28T00:00Z 24=2030-02-28T00:00Z 47=2032-01-29T00:00Z 48=2032-02-29T00:00Z`,
  ],
  [
    'January 31 in 2028 and 2100',
    { unit: 'month', timeZone: 'UTC', anchor: at('2028-01-31T00:00Z') },
    `1=2028-02-29T00:00Z 2=2028-03-31T00:00Z 3=2028-04-30T00:00Z 13=2029-02-28T00:00Z 865=2100-02-28T00:00Z
     866=2100-03-31T00:00Z`,
  ],
  [
    'January 31 into a leap year, Berlin',
    { unit: 'month', timeZone: 'Europe/Berlin', anchor: at('2024-01-30T23:00Z') },
    `1=2024-02-28T23:00Z 2=2024-03-30T23:00Z 3=2024-04-29T22:00Z 11=2024-12-30T23:00Z 12=2025-01-30T23:00Z
     13=2025-02-27T23:00Z`,
  ],
  [
    'days over February 2028 and 2100',
    { unit: 'day', timeZone: 'UTC', anchor: at('2028-02-28T00:00Z') },
    `1=2028-02-29T00:00Z 2=2028-03-01T00:00Z 26297=2100-02-27T00:00Z 26298=2100-02-28T00:00Z
     26299=2100-03-01T00:00Z`,
  ],
  [
    'a million days',
    { unit: 'day', timeZone: 'UTC', anchor: at('2020-01-31T06:00Z') },
    `1000=2022-10-27T06:00Z 1000000=4757-12-28T06:00Z`,
  ],
  [
    'a million hours',
    { unit: 'hour', timeZone: 'UTC', anchor: at('2020-01-31T06:00Z') },
    `1000=2020-03-12T22:00Z 1000000=2134-02-28T22:00Z`,
  ],
  [
    'a thousand weeks from a skipped hour',
    { unit: 'week', timeZone: 'Europe/Berlin', anchor: at('1995-03-19T01:30Z') },
    `1=1995-03-26T01:30Z 1000=2014-05-18T00:30Z 1566=2025-03-23T01:30Z`,
  ],
  [
    '95,000 months',
    { unit: 'month', timeZone: 'UTC', anchor: at('2020-01-31T06:00Z') },
    `1000=2103-05-31T06:00Z 95000=9936-09-30T06:00Z 95001=9936-10-31T06:00Z`,
  ],
  [
    '7,900 years',
    { unit: 'year', timeZone: 'UTC', anchor: at('2020-02-29T06:00Z') },
    `1000=3020-02-29T06:00Z 7900=9920-02-29T06:00Z 7901=9921-02-28T06:00Z`,
  ],
]

function readResets(text: string): { n: number; reset: Instant }[] {
  return text
    .trim()
    .split(/\s+/)
    .map((token) => token.split('='))
    .map(([n, reset]) => ({ n: Number(n), reset: at(String(reset)) }))
}

/**
 * The day of the month of resets 0 … 26 of a monthly rule in UTC, as MariaDB's DATE_ADD has them. 2028 is a leap year.
 */
const MONTH_ENDS: readonly (readonly [anchor: string, days: string])[] = [
  ['2027-01-29', '29 28 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 28 29'],
  ['2027-01-30', '30 28 30 30 30 30 30 30 30 30 30 30 30 29 30 30 30 30 30 30 30 30 30 30 30 28 30'],
  ['2027-01-31', '31 28 31 30 31 30 31 31 30 31 30 31 31 29 31 30 31 30 31 31 30 31 30 31 31 28 31'],
  ['2027-03-29', '29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 28 29 29 29'],
  ['2027-03-30', '30 30 30 30 30 30 30 30 30 30 30 29 30 30 30 30 30 30 30 30 30 30 30 28 30 30 30'],
  ['2027-03-31', '31 30 31 30 31 31 30 31 30 31 31 29 31 30 31 30 31 31 30 31 30 31 31 28 31 30 31'],
  ['2027-04-29', '29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 28 29 29 29 29'],
  ['2027-04-30', '30 30 30 30 30 30 30 30 30 30 29 30 30 30 30 30 30 30 30 30 30 30 28 30 30 30 30'],
  ['2027-05-29', '29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 28 29 29 29 29 29'],
  ['2027-05-30', '30 30 30 30 30 30 30 30 30 29 30 30 30 30 30 30 30 30 30 30 30 28 30 30 30 30 30'],
  ['2027-05-31', '31 30 31 31 30 31 30 31 31 29 31 30 31 30 31 31 30 31 30 31 31 28 31 30 31 30 31'],
  ['2027-06-29', '29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 28 29 29 29 29 29 29'],
  ['2027-06-30', '30 30 30 30 30 30 30 30 29 30 30 30 30 30 30 30 30 30 30 30 28 30 30 30 30 30 30'],
  ['2027-07-29', '29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 28 29 29 29 29 29 29 29'],
  ['2027-07-30', '30 30 30 30 30 30 30 29 30 30 30 30 30 30 30 30 30 30 30 28 30 30 30 30 30 30 30'],
  ['2027-07-31', '31 31 30 31 30 31 31 29 31 30 31 30 31 31 30 31 30 31 31 28 31 30 31 30 31 31 30'],
  ['2027-08-29', '29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 28 29 29 29 29 29 29 29 29'],
  ['2027-08-30', '30 30 30 30 30 30 29 30 30 30 30 30 30 30 30 30 30 30 28 30 30 30 30 30 30 30 30'],
  ['2027-08-31', '31 30 31 30 31 31 29 31 30 31 30 31 31 30 31 30 31 31 28 31 30 31 30 31 31 30 31'],
  ['2027-09-29', '29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 28 29 29 29 29 29 29 29 29 29'],
  ['2027-09-30', '30 30 30 30 30 29 30 30 30 30 30 30 30 30 30 30 30 28 30 30 30 30 30 30 30 30 30'],
  ['2027-10-29', '29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 28 29 29 29 29 29 29 29 29 29 29'],
  ['2027-10-30', '30 30 30 30 29 30 30 30 30 30 30 30 30 30 30 30 28 30 30 30 30 30 30 30 30 30 30'],
  ['2027-10-31', '31 30 31 31 29 31 30 31 30 31 31 30 31 30 31 31 28 31 30 31 30 31 31 30 31 30 31'],
  ['2027-11-29', '29 29 29 29 29 29 29 29 29 29 29 29 29 29 29 28 29 29 29 29 29 29 29 29 29 29 29'],
  ['2027-11-30', '30 30 30 29 30 30 30 30 30 30 30 30 30 30 30 28 30 30 30 30 30 30 30 30 30 30 30'],
  ['2027-12-29', '29 29 29 29 29 29 29 29 29 29 29 29 29 29 28 29 29 29 29 29 29 29 29 29 29 29 28'],
  ['2027-12-30', '30 30 29 30 30 30 30 30 30 30 30 30 30 30 28 30 30 30 30 30 30 30 30 30 30 30 28'],
  ['2027-12-31', '31 31 29 31 30 31 30 31 31 30 31 30 31 31 28 31 30 31 30 31 31 30 31 30 31 31 28'],
  ['2028-02-29', '29 29 29 29 29 29 29 29 29 29 29 29 28 29 29 29 29 29 29 29 29 29 29 29 28 29 29'],
]

const ZONES = [
  'UTC',
  'America/New_York',
  'America/Havana',
  'America/St_Johns',
  'America/Santiago',
  'Europe/Berlin',
  'Europe/Dublin',
  'Africa/Casablanca',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Kwajalein',
  'Pacific/Chatham',
]

/** No fewer milliseconds than a unit lasts, without the day that a zone may leave out. */
const LENGTH = { hour: HOUR, day: DAY, week: 7 * DAY, month: 31 * DAY, year: 366 * DAY } satisfies Record<
  CycleUnit,
  number
>

const anyRule = (unit: fc.Arbitrary<CycleUnit> = fc.constantFrom(...CYCLE_UNITS)): fc.Arbitrary<CycleRule> =>
  fc.record({
    unit,
    timeZone: fc.constantFrom(...ZONES),
    // On quarter hours, so that anchors meet clock changes, and off them.
    anchor: fc.oneof(
      fc
        .integer({ min: at('1990-01-01T00:00Z') / 900_000, max: at('2030-01-01T00:00Z') / 900_000 })
        .map((n) => n * 900_000),
      fc.integer({ min: at('1970-01-01T00:00Z'), max: at('2200-01-01T00:00Z') }),
      // Around the changes themselves.
      fc
        .tuple(
          fc.constantFrom(
            ...[
              '2011-12-30T10:00Z',
              '1993-08-21T12:00Z',
              '2024-03-10T07:00Z',
              '2024-11-03T06:00Z',
              '2024-10-05T15:30Z',
            ],
            ...[
              '2024-04-06T15:00Z',
              '2024-03-30T22:00Z',
              '2024-10-26T21:00Z',
              '2024-02-29T00:00Z',
              '2024-01-31T00:00Z',
            ],
          ),
          fc.integer({ min: -300, max: 100 }),
        )
        .map(([change, quarters]) => at(change) + quarters * 900_000),
    ),
  })

/** Reset n, or MAX_INSTANT where that lies beyond it. */
const boundary = (rule: CycleRule, n: number): Instant => Math.min(MAX_INSTANT, resetsOf(rule)(n))

/** The cycle around `instant` by looking at one reset after the other. */
function bySearch(rule: CycleRule, instant: Instant): { start: Instant | null; end: Instant } {
  let start: Instant | null = null
  for (let n = 0; ; n += 1) {
    const reset = boundary(rule, n)
    if (reset > instant || reset === MAX_INSTANT) return { start, end: reset }
    start = reset
  }
}

/** The same by halving: far enough for any reach, and blind to how the code under test guesses. */
function byHalving(rule: CycleRule, instant: Instant): { start: Instant; end: Instant } {
  let low = 0
  let high = 1
  while (boundary(rule, high) <= instant) high *= 2
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (boundary(rule, middle) <= instant) low = middle
    else high = middle
  }
  return { start: boundary(rule, low), end: boundary(rule, high) }
}

const MONTH_LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
const lengthOf = (year: number, month: number): number =>
  month === 1 && isLeap(year) ? 29 : (MONTH_LENGTHS[month] ?? NaN)

/** Days from 1970-01-01 to the first of a month, counted month by month. */
const FIRSTS = new Map<string, number>()
for (let year = 1970, days = 0; year < 2400; year += 1) {
  for (let month = 0; month < 12; month += 1) {
    FIRSTS.set(`${year}-${month}`, days)
    days += lengthOf(year, month)
  }
}

/** Reset n of a monthly rule in UTC by the tables above. */
function civilReset(year: number, month: number, day: number, time: number, n: number): Instant {
  const index = year * 12 + month + n
  const [y, m] = [Math.floor(index / 12), index % 12]
  return ((FIRSTS.get(`${y}-${m}`) ?? NaN) + Math.min(day, lengthOf(y, m)) - 1) * DAY + time
}

afterEach(() => {
  jest.restoreAllMocks()
})

describe('resetsOf', () => {
  it.each(RESETS)('%s', (_title, rule, text) => {
    for (const { n, reset } of readResets(text)) {
      expect(`${n} ${formatInstant(boundary(rule, n))}`).toBe(`${n} ${formatInstant(reset)}`)
    }
  })

  it.each(MONTH_ENDS)('steps by months from %s', (anchor, days) => {
    const [year = 0, month = 0] = anchor.split('-').map(Number)
    days.split(' ').forEach((day, n) => {
      const index = year * 12 + month - 1 + n
      const expected = `${Math.floor(index / 12)}-${String((index % 12) + 1).padStart(2, '0')}-${day}T12:34:56.789Z`
      expect(formatInstant(boundary(utc('month', `${anchor}T12:34:56.789Z`), n))).toBe(expected)
    })
  })

  it('agrees with a calendar that is computed by hand, in UTC', () => {
    const date = fc.record({
      year: fc.integer({ min: 1970, max: 2199 }),
      month: fc.integer({ min: 0, max: 11 }),
      day: fc.integer({ min: 1, max: 31 }),
      time: fc.integer({ min: 0, max: DAY - 1 }),
    })
    fc.assert(
      fc.property(date, fc.integer({ min: 0, max: 2399 }), ({ year, month, day, time }, n) => {
        fc.pre(day <= lengthOf(year, month))
        const anchor = civilReset(year, month, day, time, 0)
        const rule = (unit: CycleUnit): CycleRule => ({ unit, timeZone: 'UTC', anchor })
        expect(boundary(rule('month'), n)).toBe(civilReset(year, month, day, time, n))
        expect(boundary(rule('year'), n % 200)).toBe(civilReset(year, month, day, time, (n % 200) * 12))
        expect(boundary(rule('week'), n)).toBe(anchor + n * 7 * DAY)
        expect(boundary(rule('day'), n)).toBe(anchor + n * DAY)
        expect(boundary(rule('hour'), n)).toBe(anchor + n * HOUR)
      }),
      { numRuns: 500 },
    )
  })

  it('has the anchor as reset 0, and never decreases', () => {
    fc.assert(
      fc.property(anyRule(), fc.integer({ min: 0, max: 500 }), (rule, n) => {
        expect(boundary(rule, 0)).toBe(rule.anchor)
        expect(boundary(rule, n + 1)).toBeGreaterThanOrEqual(boundary(rule, n))
      }),
      { numRuns: 500 },
    )
  })

  it.each(CYCLE_UNITS)('stops at the latest time: %s', (unit) => {
    for (const timeZone of ['UTC', 'Pacific/Kiritimati', 'America/New_York']) {
      expect(boundary({ unit, timeZone, anchor: MAX_INSTANT }, 0)).toBe(MAX_INSTANT)
      for (const n of [1, 2, 10_000, 1e9, Number.MAX_SAFE_INTEGER]) {
        expect(boundary({ unit, timeZone, anchor: MAX_INSTANT }, n)).toBe(MAX_INSTANT)
      }
      expect(boundary({ unit, timeZone, anchor: 0 }, 1e9)).toBe(MAX_INSTANT)
    }
  })

  it('reaches the last resets before the latest time', () => {
    expect(formatInstant(boundary(utc('year', '0000-02-29T00:00:00Z'), 9999))).toBe('9999-02-28T00:00:00.000Z')
    expect(formatInstant(boundary(utc('day', '0000-01-01T00:00:00Z'), 3_652_424))).toBe('9999-12-31T00:00:00.000Z')
    expect(boundary(utc('day', '0000-01-01T00:00:00Z'), 3_652_425)).toBe(MAX_INSTANT)
  })
})

describe('cycleAt', () => {
  it.each(RESETS)('%s', (_title, rule, text) => {
    for (const { n, reset } of readResets(text)) {
      expect(cycleAt(rule, reset).start).toBe(reset)
      expect(cycleAt(rule, reset).end).toBeGreaterThan(reset)
      expect(cycleAt(rule, reset - 1).end).toBe(reset)
      expect(cycleAt(rule, reset - 1).start).toBeLessThan(reset)
      expect(isReset(rule, reset)).toBe(true)
      expect(n).toBeGreaterThan(0)
    }
  })

  it('ends at the anchor before the anchor', () => {
    const rule = utc('month', '2026-12-01T00:00:00Z')
    for (const before of [rule.anchor - 1, rule.anchor - 400 * DAY, 0]) {
      expect(cycleAt(rule, before)).toEqual({ start: null, end: rule.anchor })
    }
  })

  it('is half-open', () => {
    const rule = utc('month', '2027-01-31T00:00:00Z')
    const february = at('2027-02-28T00:00:00Z')
    const march = at('2027-03-31T00:00:00Z')
    expect(cycleAt(rule, rule.anchor)).toEqual({ start: rule.anchor, end: february })
    expect(cycleAt(rule, february - 1)).toEqual({ start: rule.anchor, end: february })
    expect(cycleAt(rule, february)).toEqual({ start: february, end: march })
  })

  it('skips a cycle of no length', () => {
    const rule: CycleRule = { unit: 'day', timeZone: 'Pacific/Apia', anchor: at('2011-12-27T20:00Z') }
    const twice = at('2011-12-30T20:00Z')
    expect([boundary(rule, 3), boundary(rule, 4)]).toEqual([twice, twice])
    expect(cycleAt(rule, twice - 1)).toEqual({ start: twice - DAY, end: twice })
    expect(cycleAt(rule, twice)).toEqual({ start: twice, end: twice + DAY })
  })

  it('counts from an anchor in the second pass of a repeated hour', () => {
    // 01:30 in New York on 2024-11-03, the first time and the second.
    const [first, second] = [at('2024-11-03T05:30Z'), at('2024-11-03T06:30Z')]
    const rule: CycleRule = { unit: 'day', timeZone: 'America/New_York', anchor: second }
    expect(cycleAt(rule, first)).toEqual({ start: null, end: second })
    expect(cycleAt(rule, second)).toEqual({ start: second, end: second + DAY })
    expect(isReset(rule, first)).toBe(false)
  })

  it('finds the same as examining every reset in turn', () => {
    fc.assert(
      fc.property(anyRule(), fc.double({ min: -2, max: 40, noNaN: true }), (rule, units) => {
        const instant = rule.anchor + Math.round(units * LENGTH[rule.unit])
        expect(cycleAt(rule, instant)).toEqual(bySearch(rule, instant))
      }),
      { numRuns: 1000 },
    )
  })

  it('finds the same as a binary search, at any distance, at resets and next to them', () => {
    const instants = fc.integer({ min: 0, max: 7_000 * 366 })
    fc.assert(
      fc.property(anyRule(), instants, fc.integer({ min: 0, max: DAY }), (rule, days, time) => {
        const instant = rule.anchor + days * DAY + time
        const { start, end } = byHalving(rule, instant)
        for (const probe of [instant, start, end - 1]) expect(cycleAt(rule, probe)).toEqual({ start, end })
        expect(cycleAt(rule, end).start).toBe(end)
      }),
      { numRuns: 500 },
    )
  })

  it('answers the same regardless of earlier calls', () => {
    const steps = fc.array(fc.double({ min: -1, max: 12, noNaN: true }), { minLength: 2, maxLength: 12 })
    fc.assert(
      fc.property(anyRule(), steps, (rule, units) => {
        const instants = units.map((unit) => rule.anchor + Math.round(unit * LENGTH[rule.unit]))
        for (const instant of instants) expect(cycleAt(rule, instant)).toEqual(bySearch(rule, instant))
        // The same anchor under another rule has other resets.
        for (const unit of CYCLE_UNITS) {
          const other = { ...rule, unit }
          expect(cycleAt(other, rule.anchor)).toEqual(bySearch(other, rule.anchor))
        }
        for (const timeZone of ['UTC', 'Australia/Lord_Howe']) {
          const other = { ...rule, timeZone }
          expect(cycleAt(other, rule.anchor)).toEqual(bySearch(other, rule.anchor))
        }
      }),
      { numRuns: 100 },
    )
  })

  it('evicts old entries, and answers the same', () => {
    const first = utc('month', '2020-01-31T06:00:00.456Z')
    const cycle = cycleAt(first, at('2026-02-10T00:00Z'))
    const rules = Array.from({ length: 20_100 }, (_, n): CycleRule => ({
      unit: 'day',
      timeZone: 'UTC',
      anchor: n * 1000,
    }))
    // The first ones again, which are gone by then.
    for (const some of [rules, rules.slice(0, 100)]) {
      const wrong = some.filter((rule) => {
        const { start, end } = cycleAt(rule, rule.anchor + 36 * HOUR)
        return start !== rule.anchor + DAY || end !== rule.anchor + 2 * DAY
      })
      expect(wrong).toEqual([])
    }
    const convert = jest.spyOn(Temporal.Instant.prototype, 'toZonedDateTimeISO')
    expect(cycleAt(first, at('2026-02-10T00:00Z'))).toEqual(cycle)
    expect(convert.mock.calls.length).toBeGreaterThan(0)
  })

  it.each(CYCLE_UNITS)('ends with time itself: %s', (unit) => {
    for (const timeZone of ['UTC', 'Pacific/Kiritimati', 'America/New_York', 'Australia/Lord_Howe']) {
      for (const anchor of [MAX_INSTANT, MAX_INSTANT - 1, MAX_INSTANT - HOUR / 2]) {
        expect(cycleAt({ unit, timeZone, anchor }, anchor)).toEqual({ start: anchor, end: MAX_INSTANT })
        expect(cycleAt({ unit, timeZone, anchor }, MAX_INSTANT)).toEqual({ start: anchor, end: MAX_INSTANT })
      }
      const last = cycleAt({ unit, timeZone, anchor: 0 }, MAX_INSTANT)
      expect(last.end).toBe(MAX_INSTANT)
      expect(MAX_INSTANT - (last.start ?? 0)).toBeLessThan(LENGTH[unit])
    }
  })
})

describe('missed cycles', () => {
  const FAR: readonly (readonly [unit: CycleUnit, cycles: number])[] = [
    ['hour', 1000],
    ['hour', 1_000_000],
    ['day', 1000],
    ['day', 1_000_000],
    ['week', 1000],
    ['week', 400_000],
    ['month', 1000],
    ['month', 95_000],
    ['year', 1000],
    ['year', 7_900],
  ]

  describe.each(['UTC', 'America/New_York', 'Pacific/Apia'])('in %s', (timeZone) => {
    it.each(FAR)('jumps over %2$s cycles of a %1$s in a handful of steps', (unit, cycles) => {
      const rule: CycleRule = { unit, timeZone, anchor: at('2020-01-31T06:00Z') }
      const start = boundary(rule, cycles)
      const end = boundary(rule, cycles + 1)
      for (const probe of [start, end - 1, end]) {
        // Another rule each time, so that nothing is remembered; the same resets but for that.
        const fresh = { ...rule, anchor: rule.anchor + 1 + (probe % 997) }
        const add = jest.spyOn(Temporal.ZonedDateTime.prototype, 'add')
        const until = jest.spyOn(Temporal.PlainDate.prototype, 'until')
        const { start: from, end: to } = cycleAt(fresh, probe)
        expect(add.mock.calls.length).toBeLessThanOrEqual(4)
        expect(until.mock.calls.length).toBeLessThanOrEqual(1)
        expect(unit === 'hour' || add.mock.calls.length > 0).toBe(true)
        jest.restoreAllMocks()
        expect({ start: from, end: to }).toEqual(byHalving(fresh, probe))
      }
      expect(cycleAt(rule, start)).toEqual({ start, end })
    })
  })

  it('computes no calendar for a cycle that it has just found', () => {
    const rule: CycleRule = { unit: 'month', timeZone: 'Europe/Berlin', anchor: at('2020-01-31T06:00:00.123Z') }
    const { start, end } = cycleAt(rule, at('2026-02-10T00:00Z'))
    const convert = jest.spyOn(Temporal.Instant.prototype, 'toZonedDateTimeISO')
    for (const probe of [start ?? 0, at('2026-02-11T00:00Z'), end - 1])
      expect(cycleAt(rule, probe)).toEqual({ start, end })
    expect(convert).toHaveBeenCalledTimes(0)
    const { end: second } = cycleAt(rule, end)
    expect(convert.mock.calls.length).toBeGreaterThan(0)
    const { end: third } = cycleAt(rule, second)
    convert.mockClear()
    // A refusal looks ahead, and the next read is back in the running cycle.
    expect([start ?? 0, end, second].map((probe) => cycleAt(rule, probe).end)).toEqual([end, second, third])
    expect(convert).toHaveBeenCalledTimes(0)
    cycleAt(rule, third)
    expect(convert.mock.calls.length).toBeGreaterThan(0)
  })
})

describe('isReset', () => {
  it('recognizes every reset, and nothing else', () => {
    fc.assert(
      fc.property(anyRule(), fc.integer({ min: 0, max: 400 }), (rule, n) => {
        const reset = boundary(rule, n)
        expect(isReset(rule, reset)).toBe(true)
        expect(isReset(rule, reset - 1)).toBe(false)
        expect(isReset(rule, reset + 1)).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  it('recognizes no reset before the anchor', () => {
    expect(isReset(utc('month', '2026-12-01T00:00:00Z'), at('2026-11-01T00:00:00Z'))).toBe(false)
  })

  it('does not treat the latest time as a reset, unless it is one', () => {
    expect(isReset(utc('month', '2026-12-01T00:00:00Z'), MAX_INSTANT)).toBe(false)
    expect(isReset({ unit: 'month', timeZone: 'UTC', anchor: MAX_INSTANT }, MAX_INSTANT)).toBe(true)
    expect(isReset({ unit: 'hour', timeZone: 'UTC', anchor: MAX_INSTANT - HOUR }, MAX_INSTANT)).toBe(true)
  })
})

describe('isTimeZone', () => {
  it.each([
    'UTC',
    'utc',
    'GMT',
    'Etc/GMT+5',
    'EST5EDT',
    'US/Eastern',
    'Europe/Berlin',
    'europe/berlin',
    'Asia/Calcutta',
  ])('takes %j', (name) => {
    expect(isTimeZone(name)).toBe(true)
  })

  it.each([
    ...[
      '',
      ' ',
      'x',
      'Z',
      'Berlin',
      'Europe/Nowhere',
      'Europe/Berlin ',
      ' Europe/Berlin',
      'Europe/Berlin\n',
      'Europe/Berlin\0',
    ],
    ...[
      '+02:00',
      '-05:00',
      '+0200',
      '+02',
      '\u221202:00',
      'UTC+2',
      'GMT+02:00',
      '\u0130stanbul',
      '../UTC',
      'A'.repeat(65),
    ],
    ...['PST', 'IST', 'JST', 'BST', 'pst', 'Europe/Berl\u0131n'],
  ])('refuses %j', (name) => {
    expect(isTimeZone(name)).toBe(false)
  })

  it('refuses a million letters', () => {
    // No title of a test: it would be written out.
    expect(isTimeZone('A'.repeat(1e6))).toBe(false)
  })

  it('accepts no zone for which the calendar cannot compute', () => {
    const letters = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ')
    const short = letters.flatMap((first) => letters.map((second) => `${first}${second}T`)).filter(isTimeZone)
    const known = [...Intl.supportedValuesOf('timeZone'), 'utc', 'EST', 'US/Eastern', 'europe/berlin']
    for (const timeZone of [...short, ...known]) {
      expect(isTimeZone(timeZone)).toBe(true)
      const rule: CycleRule = { unit: 'day', timeZone, anchor: at('2020-01-01T00:00Z') }
      expect(boundary(rule, 7)).toBeGreaterThan(rule.anchor + 5 * DAY)
    }
  })
})
