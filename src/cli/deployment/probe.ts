/** Requests to a deployment, as a stranger sends them. */
import { setTimeout } from 'node:timers/promises'
import { bytesOf } from '../short-body.ts'

export interface Probed {
  readonly status: number
  readonly headers: Headers
  /** The first 4 MiB: a description of all routes is long. */
  readonly body: string
}

const longestWaitMs = 10_000
const longestBody = 4_194_304
const maxRetries = 3
const retryMs = 200
/** The answers of a proxy whose process does not answer. */
const passing: ReadonlySet<number> = new Set([502, 504])

export class Probe {
  /** Without a trailing slash. */
  readonly url: string

  constructor(url: string) {
    this.url = url
  }

  get isSecure(): boolean {
    return this.url.startsWith('https:')
  }

  /**
   * Sends one request to a path. Redirects are not followed. A proxy that found no process for a GET is asked again, because
   * a process may be restarting.
   *
   * @throws TypeError, DOMException when no answer came.
   */
  async send(path: string, init: RequestInit = {}): Promise<Probed> {
    let answer = await this.#once(path, init)
    for (let tries = 0; tries < maxRetries && init.method === undefined && passing.has(answer.status); tries += 1) {
      await setTimeout(retryMs)
      answer = await this.#once(path, init)
    }
    return answer
  }

  async #once(path: string, init: RequestInit): Promise<Probed> {
    const answer = await fetch(`${this.url}${path}`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(longestWaitMs),
      ...init,
    })
    const body = await bytesOf(answer, longestBody)
    return { status: answer.status, headers: answer.headers, body: body.toString('utf8') }
  }
}

/** The JSON object of a body, or an empty one. */
export function objectIn({ body }: Probed): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
  } catch {
    return {}
  }
}
