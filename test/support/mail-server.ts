/** A real SMTP server that records what it accepts, and refuses or breaks off when a test tells it to. */
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { type ParsedMail, simpleParser } from 'mailparser'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  readonly raw: string
  readonly parsed: ParsedMail
  /** Whether the connection was encrypted, and who signed in. */
  readonly isSecure: boolean
  readonly user: string | undefined
}

/** A reply of the server, or the end of the connection without a reply. */
export type Refusal = { readonly code: number; readonly text: string } | 'hang up'

export interface MailServer {
  readonly port: number
  /** `smtp://127.0.0.1:…`, without encryption. */
  readonly url: string
  readonly received: ReceivedMail[]
  /** Connections since the start. */
  readonly connections: () => number
  /** Replies to the next commands of each kind. */
  readonly refusals: { recipient: Refusal[]; content: Refusal[]; sender: Refusal[] }
  /** Runs when content arrived, before the reply. */
  onContent: () => Promise<void>
  close(): Promise<void>
}

export async function startMailServer(
  options: SMTPServerOptions = {},
  { host = '127.0.0.1', at = 0 }: { readonly host?: string; readonly at?: number } = {},
): Promise<MailServer> {
  let connections = 0
  const received: ReceivedMail[] = []
  const refusals: MailServer['refusals'] = { recipient: [], content: [], sender: [] }
  const refused = (refusal: Refusal | undefined, hangUp: () => void): Error | null => {
    if (refusal === undefined) return null
    if (refusal === 'hang up') hangUp()
    return Object.assign(new Error(refusal === 'hang up' ? 'gone' : refusal.text), {
      responseCode: refusal === 'hang up' ? 421 : refusal.code,
    })
  }
  const endAll = (): void => {
    for (const { _socket: socket } of server.connections as unknown as Set<{ _socket: { destroy(): void } }>)
      socket.destroy()
  }
  const state: MailServer = {
    port: 0,
    url: '',
    received,
    connections: () => connections,
    refusals,
    onContent: () => Promise.resolve(),
    close: () =>
      new Promise((resolve) => {
        endAll()
        server.close(() => resolve())
      }),
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    onConnect: (_session, done) => {
      connections += 1
      done()
    },
    onMailFrom: (_address, _session, done) => done(refused(refusals.sender.shift(), endAll)),
    onRcptTo: (_address, _session, done) => done(refused(refusals.recipient.shift(), endAll)),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        void (async () => {
          const raw = Buffer.concat(chunks)
          await state.onContent()
          const refusal = refused(refusals.content.shift(), endAll)
          if (refusal !== null) return done(refusal)
          const { mailFrom, rcptTo } = session.envelope
          received.push({
            from: mailFrom === false ? '' : (mailFrom?.address ?? ''),
            to: rcptTo.map(({ address }) => address),
            raw: raw.toString(),
            parsed: await simpleParser(raw),
            isSecure: session.secure,
            user: typeof session.user === 'string' ? session.user : undefined,
          })
          done(null, `queued as ${received.length}`)
        })()
      })
    },
    ...options,
  })
  // A connection that a test breaks off.
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(at, host, resolve))
  const { port } = server.server.address() as AddressInfo
  return Object.assign(state, { port, url: `smtp://${host}:${port}` })
}

/** The only message, as the reader sees it. */
export function onlyMail({ received }: MailServer): ReceivedMail {
  assert.equal(received.length, 1)
  return received[0] ?? assert.fail()
}
