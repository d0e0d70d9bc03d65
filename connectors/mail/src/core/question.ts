/** The input of a client is no question; the message names what is wrong. */
export class Malformed extends Error {
  override readonly name = 'Malformed'
}

/** What a front asks about a message. Texts are as the mail server sends them; empty if it sent none. */
export interface Question {
  /** The state of the SMTP dialogue: `RCPT`, `DATA`, `END-OF-MESSAGE`; any other is not asked about. */
  readonly state: string
  /** The same for all questions about one message, and for no other message. */
  readonly instance: string
  /** Does the mail server ask again if it hears no answer? Otherwise a charge that it does not hear of is refunded. */
  readonly repeats: boolean
  readonly queueId: string
  /** The sender address of the envelope; empty for bounces, too. */
  readonly sender: string
  /** The login. */
  readonly saslUsername: string
  /** IPv4 or IPv6. */
  readonly clientAddress: string
  /** At `RCPT`, its recipient; later, the only one if there is one; else empty. */
  readonly recipient: string
  /** The number of recipients that the mail server has accepted so far. */
  readonly recipientCount: number
  /** How many of them are local; undefined if the mail server does not name them. */
  readonly localCount: number | undefined
  /** Bytes: what the client has announced, or 0; at the end of the message its size. Undefined if it is not told. */
  readonly size: number | undefined
}
