/**
 * An empty handler in the application itself, behind the same access check, validation, log and metrics as every other
 * (limit-http), and one that needs no token (limit-open): the cost of a request without any work.
 */
import { once } from 'node:events'
import { Body, Controller, HttpCode, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { APP_OPTIONS, configureApp } from '../../dist/src/app.js'
import { AppModule } from '../../dist/src/app.module.js'
import { AnyPrincipal, Public } from '../../dist/src/auth/access.decorator.js'
import { loadConfig } from '../../dist/src/config/config.js'
import { migrate } from '../../dist/src/database/migrate.js'
import { ENTITIES } from '../../dist/src/entities.js'
import { NativeExpressAdapter } from '../../dist/src/http/express.adapter.js'
import { MailConsume } from '../../dist/src/mail-quota/mail-usage.dto.js'
import { ServiceLogger } from '../../dist/src/operations/service-logger.js'
import { Stdout } from '../../dist/src/operations/stdout.js'

class Limit {
  async http(dto) {
    return { account_id: dto.account_id, amount: dto.amount, remaining: 1000 }
  }

  async open(dto) {
    return { account_id: dto.account_id, amount: dto.amount, remaining: 1000 }
  }
}
for (const [name, access] of [
  ['http', AnyPrincipal()],
  ['open', Public()],
]) {
  const descriptor = Object.getOwnPropertyDescriptor(Limit.prototype, name)
  Reflect.defineMetadata('design:paramtypes', [MailConsume], Limit.prototype, name)
  Body()(Limit.prototype, name, 0)
  for (const decorate of [Post(name), HttpCode(200), access]) decorate(Limit.prototype, name, descriptor)
}
Controller('limit')(Limit)

const config = loadConfig(process.env)
await migrate(config.database, ENTITIES)
const logger = new ServiceLogger(config, Stdout.open())
const module = { ...AppModule.with(config), controllers: [Limit] }
const options = { ...APP_OPTIONS, logger }
const nest = await NestFactory.create(module, new NativeExpressAdapter(), options)
configureApp(nest, logger)
await nest.init()
const server = nest.getHttpServer()
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 })
await once(server, 'listening')
process.send({ port: server.address().port })
process.on('SIGINT', () => process.exit())
