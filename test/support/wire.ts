/** Sends raw HTTP, for requests that no client library would send. */
import { connect, type Socket } from 'node:net'

export interface WireAnswer {
  readonly status: number
  /** Header fields, with names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** A test fails when it waits longer than this for bytes. */
const patienceMs = 20_000

export class Wire {
  readonly socket: Socket
  /** All received bytes. */
  received = ''
  isClosed = false
  readonly #waiting = new Set<() => void>()
  readonly #headRequests: boolean

  private constructor(socket: Socket, headRequests: boolean) {
    this.socket = socket
    this.#headRequests = headRequests
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      this.received += text
      this.#wake()
    })
    // A reset is a normal end of a connection; 'close' follows.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
      this.#wake()
    })
  }

  /** @param isHead True for HEAD requests, whose responses have a Content-Length but no body. */
  static async open(url: string, { isHead = false } = {}): Promise<Wire> {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    return new Wire(socket, isHead)
  }

  send(text: string | Buffer): this {
    this.socket.write(text, 'latin1')
    return this
  }

  /** Waits for the first `count` responses, including interim responses (1xx). */
  async answers(count: number): Promise<WireAnswer[]> {
    let found: WireAnswer[] = []
    await this.#until(() => {
      found = parse(this.received, this.#headRequests)
      return found.length >= count || this.isClosed
    }, `${count} answers`)
    if (found.length < count) throw new Error(`The connection closed after: ${JSON.stringify(this.received)}`)
    return found.slice(0, count)
  }

  async answer(): Promise<WireAnswer> {
    const [first] = await this.answers(1)
    if (first === undefined) throw new Error('No answer')
    return first
  }

  /** Returns all responses after the peer closed the connection. */
  async untilClosed(): Promise<WireAnswer[]> {
    await this.#until(() => this.isClosed, 'end of the connection')
    return parse(this.received, this.#headRequests)
  }

  /** Resets the connection, as a crashed program does. */
  reset(): void {
    this.socket.resetAndDestroy()
  }

  close(): void {
    this.socket.destroy()
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
  }

  async #until(holds: () => boolean, what: string): Promise<void> {
    if (holds()) return
    await new Promise<void>((resolve, reject) => {
      const done = (): void => {
        if (!holds()) return
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      // Real time: it limits the wait for a response.
      const timer = setTimeout(() => {
        this.#waiting.delete(done)
        reject(
          new Error(`Did not receive ${what} within 20 s; received: ${JSON.stringify(this.received.slice(0, 2000))}`),
        )
      }, patienceMs)
      this.#waiting.add(done)
    })
  }
}

/** Parses the complete responses. */
function parse(text: string, isHead: boolean): WireAnswer[] {
  const answers: WireAnswer[] = []
  let rest = text
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return answers
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
    if (!Number.isInteger(status)) throw new Error(`Invalid status line: ${JSON.stringify(first)}`)
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
      }),
    )
    const hasBody = !isHead && status >= 200 && status !== 204 && status !== 304
    const length = hasBody ? Number(headers.get('content-length') ?? 0) : 0
    const body = rest.slice(end + 4, end + 4 + length)
    if (body.length < length) return answers
    answers.push({ status, headers, body })
    rest = rest.slice(end + 4 + length)
  }
}

/** Formats a request. Adds Content-Length for a body unless the headers already frame it. */
export function requestText(method: string, path: string, headers: Record<string, string> = {}, body = ''): string {
  const all: Record<string, string> = { Host: 'troupe.test', ...headers }
  const isFramed = Object.keys(all).some((name) => /^(content-length|transfer-encoding)$/i.test(name))
  if (body !== '' && !isFramed) all['Content-Length'] = String(Buffer.byteLength(body, 'latin1'))
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
