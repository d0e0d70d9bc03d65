import { createHmac, timingSafeEqual } from 'node:crypto'
import { Inject, Injectable } from '@nestjs/common'
import { PassportStrategy } from '@nestjs/passport'
import { Strategy } from 'passport-http-bearer'
import { Clock } from '../common/clock.js'
import { CONFIG, type Config } from '../config/config.js'
import type { Instant } from '../common/instant.js'
import { REALM } from './bearer.strategy.js'
import { LINK_PREFIX, type LinkHolder } from './principal.js'

/** The token of a link, and the time at which it ends. */
export interface OwnerLink {
  readonly token: string
  readonly expiresAt: Instant
}

/**
 * Channel, owner, expiry and generation, each in one form only, and the signature. It contains more dots than a JWT, so
 * it is never taken for one.
 */
const FORM = /^(ql\.([a-z]+)\.([1-9]\d{0,15})\.([1-9]\d{0,15})\.(0|[1-9]\d{0,15}))\.([\w-]{43})$/

/**
 * The links with which owners see what they have left, without a sign-in (contract, §14). A link is signed and stored
 * nowhere: an owner's row contains only its generation, and revoking increases it.
 */
@Injectable()
export class OwnerLinks {
  private readonly generations = new Map<string, (ownerId: number) => Promise<number>>()

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** Adds a channel. @param generationOf reads the present generation of an owner's links */
  add(channel: string, generationOf: (ownerId: number) => Promise<number>): void {
    this.generations.set(channel, generationOf)
  }

  /** Makes a link, signed with the first secret. Its route is served only if there is one. */
  async make(channel: string, ownerId: number, ttlSeconds: number): Promise<OwnerLink> {
    const [secret = ''] = this.config.linkSecret
    const expiresAt = this.clock.now() + ttlSeconds * 1000
    const text = `ql.${channel}.${ownerId}.${expiresAt}.${await this.generations.get(channel)?.(ownerId)}`
    return { token: `${text}.${signature(text, secret)}`, expiresAt }
  }

  /** Returns the holder of a link; false if it does not open, for whatever reason. */
  async holderOf(token: string): Promise<LinkHolder | false> {
    const [, text = '', channel = '', owner, expiry, generation, sent = ''] = FORM.exec(token) ?? []
    // Compares with every secret, so that the duration does not reveal which one matches.
    const isSigned = this.config.linkSecret.map((secret) => matches(signature(text, secret), sent)).includes(true)
    const [ownerId, expiresAt] = [Number(owner), Number(expiry)]
    if (!isSigned || this.clock.now() >= expiresAt) return false
    if ((await this.generations.get(channel)?.(ownerId)) !== Number(generation)) return false
    return { name: 'link', id: `${LINK_PREFIX}${channel}:${ownerId}`, channel, ownerId, expiresAt }
  }
}

function signature(text: string, secret: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url')
}

/** Compares texts, and not what they decode to: several texts decode to the same bytes. */
function matches(expected: string, sent: string): boolean {
  return expected.length === sent.length && timingSafeEqual(Buffer.from(expected), Buffer.from(sent))
}

/** Passport's bearer strategy for the one route that a link opens. */
@Injectable()
export class LinkStrategy extends PassportStrategy(Strategy, 'owner-link') {
  constructor(private readonly links: OwnerLinks) {
    super({ realm: REALM })
  }

  validate(token: string): Promise<LinkHolder | false> {
    return this.links.holderOf(token)
  }
}
