import type { Question } from './question.js'

/** The maximum length of a sender in a lookup, in characters: 64 before the `@` and 255 after it. */
export const MAX_SENDER_LENGTH = 320

/** The payer of a message, as the mail server identifies it. */
export interface Payer {
  readonly kind: 'sasl' | 'sender' | 'network'
  /** A login, an address of the envelope, or an IP address, in Unicode's form NFC; empty if there is none. */
  readonly name: string
}

/** Maps payers to accounts of the service. */
export interface Accounts {
  /**
   * @returns undefined if the payer is unknown
   * @throws Error if the lookup is impossible now
   */
  find(payer: Payer): Promise<number | undefined>
}

/**
 * The payer: the login. A message with a login is never charged to another sender, regardless of its envelope.
 * @param otherwise the payer of messages without a login
 */
export function payerOf(question: Question, otherwise: 'none' | 'sender' | 'network'): Payer {
  const { saslUsername, sender, clientAddress } = question
  if (saslUsername !== '' || otherwise === 'none') return { kind: 'sasl', name: saslUsername.normalize() }
  return otherwise === 'sender'
    ? { kind: 'sender', name: sender.normalize() }
    : { kind: 'network', name: clientAddress }
}

/** The first source that knows the payer. */
export function firstOf(sources: readonly Accounts[]): Accounts {
  return {
    async find(payer) {
      for (const source of sources) {
        const account = await source.find(payer)
        if (account !== undefined) return account
      }
      return undefined
    },
  }
}

export function isAccountId(id: number): boolean {
  return Number.isSafeInteger(id) && id >= 1
}

/** The account id that a text is; undefined if it is none. */
export function accountIdOf(text: string): number | undefined {
  return /^\d{1,16}$/.test(text) && isAccountId(Number(text)) ? Number(text) : undefined
}
