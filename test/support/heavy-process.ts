/** A service in a process of its own that measures itself while it answers a request. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type { CallerName, HeavyActor } from './heavy-actor.ts'
import type { HeavyRequest } from './heavy-requests.ts'
import type { Answer, Order, Strain } from './heavy-service.ts'
import { sourceArguments } from './joined-files.ts'

export interface Measured {
  readonly name: string
  readonly caller: CallerName
  /** 0: the process ended, closed the connection before the answer, or took longer than `longestMs`. */
  readonly status: number
  readonly bytes: number
  /** Milliseconds to the end of the response, as a slow client reads it. */
  readonly tookMs: number
  /** Null: the process ended. */
  readonly strain: Strain | null
}

/** The longest time of a request and of the work behind its response. */
const longestMs = 120_000

export class HeavyProcess {
  readonly #child: ChildProcess
  readonly #url: string
  #leftMegabytes = 0

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.#url = url
  }

  /** @param oldSpaceMegabytes the most memory for old objects of V8. */
  static async start(database: string, oldSpaceMegabytes: number | null): Promise<HeavyProcess> {
    const limit = oldSpaceMegabytes === null ? [] : [`--max-old-space-size=${oldSpaceMegabytes}`]
    const child = fork(new URL('heavy-service.ts', import.meta.url), [database], {
      execArgv: [...sourceArguments(), '--no-warnings', ...limit],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
    })
    const killWithParent = (): void => void child.kill('SIGKILL')
    process.once('exit', killWithParent)
    child.once('exit', () => process.off('exit', killWithParent))
    const { url } = await answerOf<{ url: string }>(child)
    return new HeavyProcess(child, url)
  }

  async measure(
    { method, path, headers, body = '', name, before = [], copies = 1 }: HeavyRequest,
    caller: CallerName,
    callers: HeavyActor['callers'],
    { begin, maxBytes = Number.MAX_SAFE_INTEGER }: { readonly begin: Order; readonly maxBytes?: number },
  ): Promise<Measured> {
    for (const one of before) await this.measure(one, 'owner', callers, { begin: 'continue' })
    this.#leftMegabytes = (await this.#order(begin)).leftMegabytes
    const began = performance.now()
    const sent = { method, headers: { ...callers[caller], ...headers }, body, maxBytes }
    const answers = await Promise.all(Array.from({ length: copies }, () => readSlowly(`${this.#url}${path}`, sent)))
    const tookMs = performance.now() - began
    // One failure is the outcome of all.
    const failed = answers.find((answer) => answer.status === 0 || answer.status >= 500)
    const { status, bytes } = failed ?? answers[0] ?? { status: 0, bytes: 0 }
    const strain = this.isRunning
      ? await this.#order('end').then(
          ({ strain }) => strain,
          () => this.#kill(),
        )
      : null
    return { name, caller, status, bytes, tookMs, strain }
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** The memory that the requests before the last one left beyond idle, after a collection of garbage. */
  get leftMegabytes(): number {
    return this.#leftMegabytes
  }

  async stop(): Promise<void> {
    if (!this.isRunning) return
    const ended = once(this.#child, 'exit')
    this.#child.send('stop' satisfies Order)
    await ended
  }

  #kill(): null {
    this.#child.kill('SIGKILL')
    return null
  }

  #order(order: Order): Promise<Answer> {
    const answer = answerOf<Answer>(this.#child)
    this.#child.send(order)
    return answer
  }
}

async function answerOf<T>(child: ChildProcess): Promise<T> {
  const waiting = new AbortController()
  const signal = AbortSignal.any([waiting.signal, AbortSignal.timeout(longestMs)])
  const end = once(child, 'exit', { signal }).then(() => {
    throw new Error('The measured process ended')
  })
  end.catch(() => {})
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal }), end])) as [T]
    return message
  } finally {
    waiting.abort()
  }
}

/** Reads a response in small pieces, with other work in between, so that the service has to wait for the client. */
async function readSlowly(
  url: string,
  {
    method,
    headers,
    body,
    maxBytes,
  }: {
    readonly method: string
    readonly headers: Record<string, string>
    readonly body: string
    readonly maxBytes: number
  },
): Promise<{ readonly status: number; readonly bytes: number }> {
  let status = 0
  let bytes = 0
  try {
    const call = request(url, { method, headers, agent: false, signal: AbortSignal.timeout(longestMs) })
    call.end(body)
    const [answer] = (await once(call, 'response')) as [IncomingMessage]
    status = answer.statusCode ?? 0
    for await (const chunk of answer) {
      bytes += (chunk as Buffer).length
      for (let turns = 0; turns < 20; turns += 1) await setImmediate()
      if (bytes > maxBytes) break
    }
  } catch {
    // The service closed the connection. An answer that began is a failure too.
    return { status: 0, bytes }
  }
  return { status, bytes }
}
