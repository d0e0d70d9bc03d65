/** An empty Nest application on Express, to measure its start. */
import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'

class Empty {}
Module({})(Empty)

const app = await NestFactory.create(Empty, { logger: false })
await app.listen(0, '127.0.0.1')
process.send({ port: app.getHttpServer().address().port })
