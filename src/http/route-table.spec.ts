import { describe, expect, it } from '@jest/globals'
import { Body, Controller, Delete, Get, Post, Query, type Type } from '@nestjs/common'
import { AdminAuth, AnyPrincipal, ClosedTo, Public, ServiceAuth } from '../auth/access.decorator.js'
import { BodyLimit } from './body-limit.decorator.js'
import { IdField } from './field.decorator.js'
import { Problems } from './problem.decorator.js'
import { RouteTable } from './route-table.js'

class Dto {
  @IdField()
  id!: number
}

class Bare {
  id!: number
}

@Controller('a')
@ServiceAuth('mail')
class Things {
  @Get()
  @ClosedTo('own')
  list(@Query() query: Dto): unknown {
    return query
  }

  @Get(':id')
  one(): void {}

  @Delete(':id')
  drop(): void {}

  @Get('list')
  words(): void {}
}

@Controller('a')
class Doors {
  @Post()
  @AdminAuth('sms')
  @BodyLimit(7)
  @Problems('quota_exceeded')
  make(@Body() dto: Dto): unknown {
    return dto
  }

  @Post('usage/consume')
  @Public()
  consume(): void {}

  @Post('usage/:op/commit')
  @AnyPrincipal('metricsPublic')
  commit(): void {}
}

@Controller('b')
class Others {
  @Get(':id')
  one(): void {}
}

const table = new RouteTable([Things, Doors, Others])
const route = (method: string, path: string) => table.routes.find((one) => one.method === method && one.path === path)

describe('what a route declares', () => {
  it('is read from the handler or its class', () => {
    expect(route('GET', '/a')).toMatchObject({
      access: 'service',
      channel: 'mail',
      closedTo: ['own'],
      takesQuery: true,
      takesBody: false,
      bodyLimit: 1_000,
      problems: [],
    })
    expect(route('POST', '/a')).toMatchObject({
      access: 'admin',
      channel: 'sms',
      closedTo: [],
      takesQuery: false,
      takesBody: true,
      bodyLimit: 7,
      problems: ['quota_exceeded'],
    })
    expect(route('POST', '/a/usage/consume')).toMatchObject({ access: 'public', openedBy: undefined })
    expect(route('POST', '/a/usage/:op/commit')).toMatchObject({ access: 'any', openedBy: 'metricsPublic' })
    expect(route('GET', '/b/:id')).toMatchObject({ access: undefined, channel: undefined })
  })

  it('is contested where a word may stand in a parameter’s place', () => {
    const contested = table.routes
      .filter((one) => table.isContested(one))
      .map(({ method, path }) => `${method} ${path}`)
    expect(contested.sort()).toEqual(['DELETE /a/:id', 'GET /a/:id', 'POST /a/usage/:op/commit'])
  })
})

describe('a request without a route', () => {
  it.each([
    ['POST', '/a/usage/Consume', undefined, 'POST /a/usage/consume'],
    ['POST', '/a/7', 'this path takes DELETE, GET, HEAD', undefined],
    ['POST', '/a/usage/consumee', undefined, 'POST /a/usage/consume'],
    ['POST', '/A', undefined, 'POST /a'],
    ['HEAD', '/a/list/list', undefined, undefined],
    ['POST', '/usage/consume', undefined, 'POST /a/usage/consume'],
    ['POST', '/a/usage/x/comit', undefined, 'POST /a/usage/:op/commit'],
    ['POST', '/a/usage//commit', undefined, 'POST /a/usage/:op/commit'],
    ['PUT', '/A', undefined, undefined],
    ['GET', '/nowhere', undefined, undefined],
    ['GET', '/', undefined, undefined],
    ['GET', `/${'a'.repeat(16_000)}`, undefined, undefined],
  ])('%s %s is named, with the route that is near', (method, path, beginning, near) => {
    const { detail: message } = table.refusal(method, path)
    const what = beginning ?? `there is no route ${method} ${path.slice(0, 128)}`
    expect(message.slice(0, what.length)).toBe(what)
    expect(/did you mean (.*)\?$/.exec(message)?.[1]).toBe(near)
    expect(message.length).toBeLessThan(250)
  })
})

describe('a path', () => {
  it.each([
    ['/a', 'GET,HEAD,POST'],
    ['/a/', 'GET,HEAD,POST'],
    ['/A/', ''],
    ['/a/7', 'DELETE,GET,HEAD'],
    ['/a/list', 'GET,HEAD'],
    ['/a/list/', 'GET,HEAD'],
    ['/a/LIST/', 'DELETE,GET,HEAD'],
    ['/a/lists', 'DELETE,GET,HEAD'],
    ['/a/usage', ''],
    ['/a/usage/consume', 'POST'],
    ['/a/usage/consume/commit', ''],
    ['/a/usage/x/commit', 'POST'],
    ['/a/7/8', ''],
    ['/a//', ''],
    ['/', ''],
    ['', ''],
    ['/b', ''],
    ['/b/list', 'GET,HEAD'],
    ['/b/__proto__', 'GET,HEAD'],
    ['/constructor', ''],
  ])('%s takes [%s]', (path, methods) => {
    expect(table.allowed(path).join()).toBe(methods)
    expect(table.refusal('GET', path).code).toBe(methods === '' ? 'route_not_found' : 'method_not_allowed')
  })

  it.each([
    ['GET', '/a/7', '/a/:id', ['7']],
    ['HEAD', '/a/Seven/', '/a/:id', ['Seven']],
    ['GET', '/a/list', '/a/list', []],
    ['GET', '/a/LIST', '/a/:id', ['LIST']],
    ['GET', '/A/7', undefined, undefined],
    ['GET', '/a/l%69st', '/a/:id', ['l%69st']],
    ['DELETE', '/a/list', undefined, undefined],
    ['POST', '/a/usage/X%2F/commit', '/a/usage/:op/commit', ['X%2F']],
    ['GET', '/a/usage', undefined, undefined],
  ])('%s %s leads to %s', (method, path, to, values) => {
    const found = table.find(method, path)
    expect(found?.route.path).toBe(to)
    expect(found?.values).toEqual(values)
  })
})

describe('what would be unsafe to serve', () => {
  @Controller('x')
  class Untyped {
    @Post()
    make(@Body() dto: unknown): unknown {
      return dto
    }
  }

  @Controller('x')
  class Unruled {
    @Get()
    list(@Query() query: Bare): unknown {
      return query
    }
  }

  @Controller('x')
  class Piecewise {
    @Get()
    list(@Query('page') page: string): unknown {
      return page
    }
  }

  @Controller('b')
  class Twice {
    @Get(':other')
    one(): void {}
  }

  @Controller('x')
  class Wild {
    @Get('*rest')
    all(): void {}
  }

  it.each([
    ['a body that is no class', Untyped],
    ['a query without rules', Unruled],
    ['a single parameter past the pipe', Piecewise],
    ['a second handler of a route', Twice],
    ['a wildcard', Wild],
  ])('stops the start: %s', (_what, controller) => {
    expect(() => new RouteTable([Others, controller as Type])).toThrow()
  })
})
