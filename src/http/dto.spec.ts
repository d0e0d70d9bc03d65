import { describe, expect, it } from '@jest/globals'
import { OmitType } from '@nestjs/swagger'
import { Transform } from 'class-transformer'
import { Allow, IsInt, validateSync } from 'class-validator'
import type { FieldError } from '../common/service-error.js'
import { checkDto, fieldsOf } from './dto.js'
import {
  AmountField,
  ChoiceField,
  IdField,
  IgnoredField,
  InstantField,
  ItemsField,
  KeyField,
  OperationIdField,
  TimeZoneField,
  TotalField,
} from './field.decorator.js'

class Base {
  @IdField()
  account_id!: number
}

class Dto extends Base {
  @TotalField({ optional: true })
  total?: number

  @AmountField({ optional: true, nullable: true })
  amount?: number | null

  @ChoiceField([1, 2], { optional: true })
  quota_type?: number

  @ChoiceField(['hour', 'day'], { nullable: true, optional: true })
  cycle_unit?: string | null

  @InstantField({ optional: true })
  expire_at?: string

  @TimeZoneField({ optional: true })
  cycle_time_zone?: string

  @KeyField({ optional: true })
  idempotency_key?: string

  @OperationIdField({ optional: true })
  before?: string

  @ItemsField(() => Base, { optional: true, min: 1, max: 2 })
  items?: unknown[]

  @IgnoredField()
  used?: unknown
}

class Together {
  @TotalField()
  total!: number

  violations(): FieldError[] {
    return [
      { field: 'total', message: 'second' },
      ...(this.total > 5 ? [{ field: 'body', message: 'too much' }] : []),
    ].slice(this.total > 5 ? 1 : this.total === 5 ? 2 : 0)
  }

  violationsAt(now: number): FieldError[] {
    return [{ field: 'now', message: String(now) }]
  }
}

const now = () => 1234
const body = (source: unknown) => checkDto(Dto, source, { from: 'body', now })
const query = (source: unknown) => checkDto(Dto, source, { from: 'query', now })
const violations = (source: object) => (body({ account_id: 7, ...source }).errors ?? []).map(({ field }) => field)

describe('a body', () => {
  it('becomes its class', () => {
    const { value } = body({ account_id: 7, total: 0 })
    expect(value).toBeInstanceOf(Dto)
    expect(value).toMatchObject({ account_id: 7, total: 0 })
    expect(value?.amount).toBeUndefined()
  })

  it.each([null, undefined, 7, 'text', true, [], [{ account_id: 7 }]])('must be an object, not %p', (source) => {
    expect(body(source).errors).toEqual([{ field: 'body', message: 'must be a JSON object' }])
  })

  it.each([
    ['account_id', ['7', null, undefined, 0, -1, 1.5, NaN, Infinity, 2 ** 53, true, [], {}, [7]]],
    ['total', [-1, 10 ** 12 + 1, '0', null, 0.1]],
    ['amount', [0, '5', false]],
    ['quota_type', [0, 3, '1', null, 1.5, [1]]],
    ['cycle_unit', ['Day', '', 1, ['day']]],
    ['expire_at', ['2026-12-01', '2026-12-01T00:00:00', 1, null, ['2026-12-01T00:00:00Z'], '2026-02-30T00:00:00Z']],
    ['cycle_time_zone', ['Mars/Olympus', '+02:00', '', null, 1, ['UTC']]],
    ['idempotency_key', ['', ' ', ' k', 'k ', 'k'.repeat(256), 'é', 'a\nb', 1, null]],
    ['before', ['x', '01939f3e-5c00-4a6b-8c1d-2e3f4a5b6c7d', 1]],
    ['items', [[], [1, 2, 3], {}, 'ab', null]],
  ])('has %s refused where it is broken', (field, values) => {
    for (const value of values)
      expect({ value, fields: violations({ [field]: value }) }).toEqual({ value, fields: [field] })
  })

  it.each([
    { account_id: Number.MAX_SAFE_INTEGER },
    { total: 10 ** 12 },
    { amount: null },
    { cycle_unit: null },
    { expire_at: '2026-12-01T00:00:00.123456+02:00' },
    { cycle_time_zone: 'Europe/Berlin' },
    { idempotency_key: '! ~' },
    { items: [null] },
    { used: { deep: [1] } },
    { used: null },
  ])('may hold %j', (source) => {
    expect(violations(source)).toEqual([])
  })

  it('brings values to their one form', () => {
    const { value } = body({ account_id: 7, total: -0, before: '01939F3E-5C00-7A6B-8C1D-2E3F4A5B6C7D' })
    expect(Object.is(value?.total, 0)).toBe(true)
    expect(value?.before).toBe('01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d')
  })

  it.each([
    ['QuotaType', 'did you mean quota_type?'],
    ['quota-type', 'did you mean quota_type?'],
    ['ACCOUNTID', 'did you mean account_id?'],
    ['quotatypes', 'is not a field of this request'],
    ['__proto__', 'is not a field of this request'],
    ['constructor', 'is not a field of this request'],
    ['toString', 'is not a field of this request'],
    ['', 'is not a field of this request'],
  ])('may not hold %p', (name, message) => {
    const source: unknown = JSON.parse(`{"account_id":7,${JSON.stringify(name)}:1}`)
    expect(body(source).errors).toEqual([{ field: name, message }])
  })

  it('does not let unknown names swell the answer', () => {
    const names = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`${at}${'x'.repeat(200)}`, 1]))
    const { errors = [] } = body({ account_id: 7, ...names })
    expect(errors.length).toBe(50)
    expect(Math.max(...errors.map(({ field }) => field.length))).toBe(65)
  })

  it('has its fields looked at together, and one mistake told of each', () => {
    const check = (total: unknown) => checkDto(Together, { total }, { from: 'body', now }).errors
    expect(check(5)).toBeUndefined()
    expect(check(6)).toEqual([
      { field: 'body', message: 'too much' },
      { field: 'now', message: '1234' },
    ])
    expect(check('x')?.map(({ field }) => field)).toEqual(['total', 'now'])
    expect(check('x')?.[0]?.message).toContain('must be an integer')
  })
})

describe('an item', () => {
  it('has its fields named by its place', () => {
    const item = (source: unknown) => checkDto(Base, source, { from: 'body', prefix: 'items[3].', now }).errors
    expect(item({ account_id: 0, AccountId: 1 })?.map(({ field }) => field)).toEqual([
      'items[3].AccountId',
      'items[3].account_id',
    ])
    expect(item(7)).toEqual([{ field: 'items[3]', message: 'must be a JSON object' }])
    expect(item({ account_id: 7 })).toBeUndefined()
  })
})

describe('a query', () => {
  it('has its numbers read from their digits', () => {
    expect(query({ account_id: '7', quota_type: '2', total: '0' }).value).toMatchObject({
      account_id: 7,
      quota_type: 2,
      total: 0,
    })
  })

  it.each(['', '07', '+7', '-7', '7.0', '7e0', ' 7', '0x7', '٧', '9007199254740992', '9'.repeat(40)])(
    'takes no %p for a number',
    (text) => {
      expect(query({ account_id: text }).errors?.map(({ field }) => field)).toEqual(['account_id'])
    },
  )

  it('takes each parameter once', () => {
    expect(query({ account_id: ['7', '7'] }).errors).toEqual([
      { field: 'account_id', message: 'may be given only once' },
    ])
  })
})

describe('the test of a field', () => {
  const fields = fieldsOf(Dto)
  const values = [
    ...[undefined, null, true, NaN, -1, 0, 1, 2, 3, 1.5, 10 ** 12, 10 ** 12 + 1, 2 ** 53 - 1, 2 ** 53],
    ...['', '1', 'hour', 'year', 'UTC', 'Mars/Base', ' key', 'key', '2026-12-01T00:00:00Z', '2026-12-01'],
    ...['01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d', [], [1], [1, 2], [1, 2, 3], {}],
  ]

  it.each([...fields])(
    '%s lets through what class-validator finds nothing wrong with, and nothing else',
    (name, { test }) => {
      const right = values.filter((value) => {
        const dto = Object.assign(new Dto(), { account_id: 1, [name]: value })
        return !validateSync(dto, { forbidUnknownValues: false }).some(({ property }) => property === name)
      })
      expect(values.filter((value) => test(value, new Dto()))).toEqual(right)
      expect(right).not.toEqual([])
    },
  )

  it('leaves the decision to class-validator where the field has a decorator of that alone', () => {
    class Plain {
      @IsInt()
      count!: number
    }
    const check = (count: unknown) => checkDto(Plain, { count }, { from: 'body', now })
    expect(check(1).value).toEqual({ count: 1 })
    expect(check('1').errors?.map(({ field }) => field)).toEqual(['count'])
  })

  it('and its conversions are inherited by mapped types and made by the decorators of class-transformer alone', () => {
    class Mapped extends OmitType(Dto, ['account_id']) {
      @Allow()
      @Transform(({ value }) => Number(value), { groups: ['query'] })
      count?: number
    }
    const sent = { before: '01939F3E-5C00-7A6B-8C1D-2E3F4A5B6C7D', total: '7', count: '12' }
    const before = sent.before.toLowerCase()
    expect(checkDto(Mapped, sent, { from: 'query', now }).value).toMatchObject({ before, total: 7, count: 12 })
    expect(checkDto(Mapped, { ...sent, total: 7 }, { from: 'body', now }).value).toMatchObject({ before, count: '12' })
    expect(fieldsOf(Mapped).get('total')?.test('7', new Mapped())).toBe(false)
  })

  it('is there for every field', () => {
    expect(fields.size).toBe(11)
  })
})
