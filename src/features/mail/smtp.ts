/** Sends messages to an SMTP server: a connection for each message. */
import { Readable } from 'node:stream'
import MailComposer from 'nodemailer/lib/mail-composer'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { HandOver, OutgoingMail } from './message.ts'
import type { Sender, SmtpServer } from './smtp-settings.ts'

/** Time for the connection, the greeting, and each further reply, in milliseconds. */
const connectMs = 10_000
const replyMs = 30_000
/** Time for a whole session. A server that answers slowly must not hold a connection for longer. */
const sessionMs = 90_000

export interface SmtpDeps {
  readonly server: SmtpServer
  /** The name in EHLO: the host of the service. */
  readonly host: string
}

type SentMail = OutgoingMail & { readonly from: Sender }

/** The members that errors of the connection may have. */
interface SmtpError extends Error {
  readonly code?: string
  readonly responseCode?: number
  readonly command?: string
  /** The reply of the server. */
  readonly response?: unknown
}

/** Commands whose refusal concerns the message, and not the connection or the login. */
const ofMessage: ReadonlySet<string> = new Set(['MAIL FROM', 'RCPT TO', 'DATA'])
/** Errors about the address or the message that the client finds itself. */
const withoutReply: ReadonlySet<string> = new Set(['EENVELOPE', 'EMESSAGE'])

/**
 * Makes one attempt to send. The content follows the mark: the server cannot accept a message before the mark is stored.
 *
 * @param mark See `MailTransport`.
 */
export async function sendBySmtp(deps: SmtpDeps, mail: SentMail, mark: () => Promise<void>): Promise<HandOver> {
  let isHandedOver = false
  try {
    const raw = await composed(mail)
    const content = async function* (): AsyncGenerator<Buffer> {
      await mark()
      isHandedOver = true
      yield raw
    }
    const answer = await inSession(deps, async (connection) => {
      const envelope = { from: mail.from.address, to: [mail.to], size: raw.length }
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      connection.send(envelope, Readable.from(content()), (error, info) =>
        error === null ? resolve(info?.response ?? '') : reject(error),
      )
      return promise
    })
    return { kind: 'sent', answer }
  } catch (error) {
    return outcomeOf(error as SmtpError, isHandedOver)
  }
}

/** Connects, signs in and says goodbye. @returns the last reply. @throws Error with the reason. */
export function greet(deps: SmtpDeps): Promise<string> {
  return inSession(deps, (connection) => Promise.resolve(String(connection.lastServerResponse)))
}

function outcomeOf(error: SmtpError, isHandedOver: boolean): HandOver {
  const { code = '', command = '', responseCode = 0, message } = error
  const said = { reason: reasonOf(error), reply: message.slice(0, 500) }
  if (isHandedOver && responseCode === 0) return { kind: 'unknown', ...said }
  // The server never sees an address that the protocol cannot express, or a message over its limit of size.
  if (responseCode === 0 && withoutReply.has(code)) return { kind: 'refused', ...said }
  if (responseCode >= 500 && ofMessage.has(command)) return { kind: 'refused', ...said }
  return { kind: 'retry', ...said }
}

/** Replies, and errors about an address, repeat the address. */
function reasonOf({ code = '', command = '', response, message }: SmtpError): string {
  if (typeof response === 'string') {
    const [status = 'without a code'] = /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3})?(?!\d)/.exec(response) ?? []
    return `The server replied ${status.replace('-', ' ')} to ${command}`
  }
  return code === 'EENVELOPE' ? 'The protocol cannot express the address' : message.slice(0, 500)
}

async function inSession<T>({ server, host }: SmtpDeps, work: (connection: SMTPConnection) => Promise<T>): Promise<T> {
  const connection = new SMTPConnection({
    host: server.host,
    port: server.port,
    secure: server.encryption === 'tls',
    requireTLS: server.encryption === 'starttls',
    ignoreTLS: server.encryption === 'none',
    name: host,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    dnsTimeout: connectMs,
    socketTimeout: replyMs,
    tls: { minVersion: 'TLSv1.2' },
  })
  const { promise: broken, reject } = Promise.withResolvers<never>()
  broken.catch(() => undefined)
  connection.on('error', reject)
  connection.on('end', () => reject(new Error('The server closed the connection')))
  const timeUp = AbortSignal.timeout(sessionMs)
  timeUp.addEventListener('abort', () => reject(new Error(`The server needed longer than ${sessionMs} ms`)))
  try {
    await Promise.race([broken, connected(connection)])
    if (server.login !== null) await Promise.race([broken, signedIn(connection, server.login)])
    const result = await Promise.race([broken, work(connection)])
    connection.quit()
    return result
  } catch (error) {
    connection.close()
    throw error
  }
}

function connected(connection: SMTPConnection): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.connect((error) => (error === undefined || error === null ? resolve() : reject(error)))
  })
}

function signedIn(
  connection: SMTPConnection,
  { user, password }: { readonly user: string; readonly password: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.login({ user, pass: password }, (error) => (error === null ? resolve() : reject(error)))
  })
}

function composed(mail: SentMail): Promise<Buffer> {
  const { from, to, subject, text, html, messageId, createdAt, headers } = mail
  return new MailComposer({
    from,
    to: { name: '', address: to },
    subject,
    text,
    ...(html === null ? {} : { html }),
    messageId,
    date: new Date(createdAt),
    headers: { 'Auto-Submitted': 'auto-generated', ...headers },
    newline: 'win',
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build()
}
