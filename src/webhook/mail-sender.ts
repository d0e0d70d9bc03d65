import { createHash } from 'node:crypto'
import MailComposer from 'nodemailer/lib/mail-composer'
import SMTPConnection, { type SMTPConnectionSendInfo } from 'nodemailer/lib/smtp-connection'
import type { MailEndpoint } from '../config/webhook-endpoints.js'
import { withTimeLimit } from '../common/time-limit.js'
import type { WebhookMessage } from './message.js'

/** The time that a mail server has in all, in milliseconds: longer than for HTTP, since it may look for spam. */
const TIMEOUT_MS = 30_000
/** The reply to a message that was accepted. */
const ACCEPTED = 250

/** The result of an attempt to send mail. */
export interface MailResult {
  /** The server's reply code: of a refusal, if there was one; null without a reply. */
  readonly status: number | null
  readonly error: string | null
  readonly receivedBy: readonly string[]
}

/**
 * Sends a message to those recipients that have not received it.
 * @param receivedBy who has received it before
 * @throws Error if there is no connection, or no reply in time
 */
export async function sendMail(
  endpoint: MailEndpoint,
  message: WebhookMessage,
  stop: AbortSignal,
  receivedBy: readonly string[],
): Promise<MailResult> {
  const to = endpoint.to.filter((address) => !receivedBy.includes(receiverOf(address)))
  if (to.length === 0) return { status: null, error: null, receivedBy }
  const bytes = await composed(endpoint, message)
  try {
    const { accepted, rejectedErrors = [] } = await withTimeLimit(
      TIMEOUT_MS,
      async (signal) => submitted(endpoint, to, bytes, signal),
      stop,
    )
    const [refusal] = rejectedErrors
    const received = [...receivedBy, ...accepted.map(receiverOf)]
    if (refusal === undefined) return { status: ACCEPTED, error: null, receivedBy: received }
    return { ...replyOf(refusal), receivedBy: received }
  } catch (error) {
    return { ...replyOf(error as Error), receivedBy }
  }
}

/** How the store names a recipient: it holds no addresses. */
export function receiverOf(address: string): string {
  return createHash('sha256').update(address).digest('base64url').slice(0, 16)
}

/** The same message always has the same bytes. */
async function composed({ name, from, to }: MailEndpoint, { id, at, subject, body }: WebhookMessage): Promise<Buffer> {
  const mail = new MailComposer({
    from,
    to: [...to],
    subject,
    text: body,
    date: new Date(at),
    // Of one event, endpoints send different texts.
    messageId: `<${id}.${name}@${from.slice(from.lastIndexOf('@') + 1)}>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    textEncoding: 'quoted-printable',
    xMailer: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return mail.compile().build()
}

/** One connection. The server closes it after `QUIT`, or a timeout does. */
async function submitted(
  { from, smtp }: MailEndpoint,
  to: readonly string[],
  bytes: Buffer,
  signal: AbortSignal,
): Promise<SMTPConnectionSendInfo> {
  const { host, port, secure, isLoopback, auth } = smtp
  signal.throwIfAborted()
  const connection = new SMTPConnection({
    host,
    port,
    secure,
    requireTLS: !secure && !isLoopback,
    tls: { rejectUnauthorized: !isLoopback },
    allowInternalNetworkInterfaces: isLoopback,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    dnsTimeout: TIMEOUT_MS,
  })
  // Later errors tell nothing more.
  connection.on('error', () => undefined)
  try {
    const info = await new Promise<SMTPConnectionSendInfo>((resolve, reject) => {
      const then =
        (next: () => void) =>
        (error?: Error | null): void =>
          error == null ? next() : reject(error)
      const submit = (): void =>
        connection.send({ from, to: [...to], size: bytes.length }, bytes, (error, info) =>
          error === null ? resolve(info) : reject(error),
        )
      signal.addEventListener('abort', () => reject(signal.reason as Error))
      connection.once('error', reject)
      // The other side may close it without a word.
      connection.once('end', () => reject(new Error('the connection was closed')))
      connection.connect(then(() => (auth === undefined ? submit() : connection.login(auth, then(submit)))))
    })
    connection.quit()
    return info
  } catch (error) {
    connection.close()
    throw error
  }
}

/** The most of a server's words that is kept, in characters: the store has less room. */
const MAX_REPLY_LENGTH = 1_000
/** What may be an address: many servers repeat the recipient's, and the store holds none (contract, §10). */
const ADDRESS = /[^\s<>@]{1,64}@[^\s<>@]{1,255}/g

/** The server's own words, if it has answered, without addresses. */
function replyOf({
  responseCode,
  response,
  message,
}: Error & { responseCode?: number | undefined; response?: string | undefined }): {
  status: number | null
  error: string
} {
  const isReply = responseCode !== undefined && responseCode >= 100 && responseCode <= 599
  const words = isReply ? `answered ${response ?? responseCode}` : message
  const error = words.slice(0, MAX_REPLY_LENGTH).replace(ADDRESS, '***')
  return { status: isReply ? responseCode : null, error }
}
