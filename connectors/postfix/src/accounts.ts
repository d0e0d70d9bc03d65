import type { Question } from './question.js'

/** Longest sender that is looked up, in characters: 64 before the `@` and 255 behind it. */
export const MAX_SENDER_LENGTH = 320

/** Who is to pay for a message, by what Postfix knows of it. */
export interface Payer {
  readonly kind: 'sasl' | 'sender' | 'network'
  /** A login, an address of the envelope, or an IP address; empty where there is none. */
  readonly name: string
}

/** Maps whoever pays to an account of the service. */
export interface Accounts {
  /**
   * @returns undefined where nothing is known of the payer
   * @throws Error it cannot be found out now
   */
  find(payer: Payer): Promise<number | undefined>
}

/**
 * Who pays: the login. A message with a login is never charged to somebody else, whatever its envelope says.
 * @param otherwise who pays for messages without a login
 */
export function payerOf(question: Question, otherwise: 'none' | 'sender' | 'network'): Payer {
  if (question.saslUsername !== '' || otherwise === 'none') return { kind: 'sasl', name: question.saslUsername }
  return otherwise === 'sender'
    ? { kind: 'sender', name: question.sender }
    : { kind: 'network', name: question.clientAddress }
}

/** The first that knows the payer. */
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
