/**
 * The built service with a route behind `@nestjs/throttler`, in a separate process: that package is CommonJS and
 * requires Nest's ES modules, which Node supports since 20.19 and Jest does not. Sends its port to the parent process.
 */
import { once } from 'node:events'
import { Controller, Get, UseGuards } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler'
import { APP_OPTIONS, configureApp } from '../../dist/src/app.js'
import { AppModule } from '../../dist/src/app.module.js'
import { Public } from '../../dist/src/auth/access.decorator.js'
import { loadConfig } from '../../dist/src/config/config.js'
import { migrate } from '../../dist/src/database/migrate.js'
import { ENTITIES } from '../../dist/src/entities.js'
import { NativeExpressAdapter } from '../../dist/src/http/express.adapter.js'

class Throttled {
  get() {
    return { ok: true }
  }
}
const descriptor = Object.getOwnPropertyDescriptor(Throttled.prototype, 'get')
for (const decorate of [Get(), Public(), UseGuards(ThrottlerGuard)]) decorate(Throttled.prototype, 'get', descriptor)
Controller('throttled')(Throttled)

const config = loadConfig(process.env)
await migrate(config.database, ENTITIES)
const app = AppModule.with(config)
const module = {
  ...app,
  imports: [...app.imports, ThrottlerModule.forRoot([{ ttl: 60_000, limit: 2 }])],
  controllers: [Throttled],
}
const nest = await NestFactory.create(module, new NativeExpressAdapter(), { ...APP_OPTIONS, logger: false })
configureApp(nest)
await nest.listen(0, '127.0.0.1')
const server = nest.getHttpServer()
process.send({ port: server.address().port })
await once(process, 'disconnect')
await nest.close()
