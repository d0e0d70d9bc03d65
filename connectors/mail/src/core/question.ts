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
  /** The number of recipients that the mail server has accepted so far. */
  readonly recipientCount: number
  /** Bytes: what the client has announced, or 0; at the end of the message its size. */
  readonly size: number
}
