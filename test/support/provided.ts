import { beforeAll } from '@jest/globals'
import request, { type Response } from 'supertest'
import { TestApp } from './app.js'
import { TestClock } from './clock.js'
import { ALGORITHMS, Issuer, type TokenOptions } from './issuer.js'
import type { Store, StoreKind } from './store.js'

const ROLES = 'quota-admins:admin,mailers:usage+mail,own mailers:usage+own,urn:x:office:service'
export const ME = '/api/v1/me'
export const REFUSED = [401, 'unauthenticated']

/** An application that takes the tokens of a provider; `store`, `issuer` and `app` are there once tests run. */
export class Provided {
  readonly clock = new TestClock()
  store!: Store
  issuer!: Issuer
  app!: TestApp

  constructor(kind: StoreKind) {
    beforeAll(async () => {
      this.store = await kind.open()
      this.issuer = await Issuer.start(() => this.clock.now())
      for (const alg of ALGORITHMS) await this.issuer.addKey(alg, alg)
      this.app = await TestApp.start(this.store, { clock: this.clock, env: this.env() })
    })
  }

  readonly env = () => ({ OIDC_ISSUER: this.issuer.url, OIDC_AUDIENCE: 'quota', OIDC_ROLES: ROLES })

  readonly bearing = (token: string, path = ME, to = this.app): request.Test =>
    request(to.url).get(path).set('Authorization', `Bearer ${token}`)

  readonly asked = async (options: TokenOptions = {}, to = this.app): Promise<Response> =>
    this.bearing(await this.issuer.token(options), ME, to)
}
