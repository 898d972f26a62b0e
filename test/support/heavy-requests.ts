/** Sends every GET request of the route table for a heavy actor, as each caller, and measures the service. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type { HeavyActor } from './heavy-actor.ts'
import type { Order, Strain } from './heavy-service.ts'
import { sourceArguments } from './joined-files.ts'
import { isBelowActor, routes, samplePeer, sampleOf } from './routes.ts'

export interface HeavyRequest {
  /** The id of the route, with what differs from its sample. */
  readonly name: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

export type CallerName = keyof HeavyActor['callers']

export interface Measured {
  readonly name: string
  readonly caller: CallerName
  /** 0: the process ended, or closed the connection before the answer. */
  readonly status: number
  readonly bytes: number
  /** Null: the process ended. */
  readonly strain: Strain | null
}

export interface Limits {
  readonly megabytes: number
  /** Processor time of one pause. Null: not judged, because other work on the machine makes it longer. */
  readonly cpuMs: number | null
}

/** Whether the request took more memory or time than it may, or the service failed. */
export function isOffender({ status, strain }: Measured, { megabytes, cpuMs }: Limits): boolean {
  if (strain === null || status === 0 || status >= 500) return true
  return strain.megabytes > megabytes || (cpuMs !== null && strain.cpuMs > cpuMs)
}

/** One request for each GET route below an actor, and further forms of those that read much. */
export function heavyReads(actor: HeavyActor): readonly HeavyRequest[] {
  const of = (name: string, path: string, headers: Readonly<Record<string, string>> = {}): HeavyRequest => ({
    name,
    method: 'GET',
    path: path.replace(':actor', actor.id),
    headers,
  })
  const sampled = routes
    .filter((route) => route.method === 'GET' && isBelowActor(route))
    .map((route) => of(route.id, sampleOf(route).path))
  return [
    ...sampled,
    of('listProperties full', '/:actor/properties?format=full'),
    of('listProperties metadata', '/:actor/properties?metadata=true'),
    of('getProperty of a list', '/:actor/properties/notes'),
    of('getListItems in lines', '/:actor/properties/notes/items', { accept: 'application/x-ndjson' }),
    of('getTrustsNamed of a type', '/:actor/trust/friend'),
    of('listTrusts of a type', '/:actor/trust?relationship=friend'),
    of('listWebhookDeliveries of a webhook', `/:actor/webhooks/${actor.webhook}/deliveries`),
    of('pollSubscription timeline', `/:actor/subscriptions/${samplePeer}/none?timeline=true`),
    of('historyPage of a name', '/:actor/www/history?name=color'),
    of('listHistory of a name', '/:actor/history?name=color'),
    of('propertiesPage searched', '/:actor/www/properties?q=name'),
    of('trustPage searched', '/:actor/www/trust?q=peer'),
  ]
}

export interface HeavyRun {
  readonly limits: Limits
  /** Null: the default of Node.js. */
  readonly oldSpaceMegabytes: number | null
  /** The last repetition is measured, because the first ones contain the compilation of the code. */
  readonly repetitions: number
  /** Default: all. */
  readonly callers?: readonly CallerName[]
}

/** Sends the requests as each caller, one after the other. */
export async function measureHeavy(
  database: string,
  actor: HeavyActor,
  requests: readonly HeavyRequest[],
  { limits, oldSpaceMegabytes, repetitions, callers = callerNames }: HeavyRun,
): Promise<readonly Measured[]> {
  const measured: Measured[] = []
  let service = await startWarm(database, actor, oldSpaceMegabytes)
  for (const request of requests) {
    for (const caller of callers) {
      let one = await service.measure(request, caller, actor.callers[caller])
      let isBad = isOffender(one, limits)
      for (let repeated = 1; repeated < repetitions && service.isRunning; repeated += 1) {
        one = await service.measure(request, caller, actor.callers[caller])
        isBad ||= isOffender(one, limits)
      }
      measured.push(one)
      if (!isBad) continue
      // The memory that an offender leaves to its process would hide the next one.
      await service.stop()
      service = await startWarm(database, actor, oldSpaceMegabytes)
    }
  }
  await service.stop()
  return measured
}

const callerNames = ['owner', 'peer', 'app'] as const

/** The first requests of a process always grow its heap. */
async function startWarm(
  database: string,
  { id, callers }: HeavyActor,
  oldSpaceMegabytes: number | null,
): Promise<HeavyService> {
  const service = await HeavyService.start(database, oldSpaceMegabytes)
  const usual: HeavyRequest = { name: 'usual', method: 'GET', path: `/${id}/properties/color`, headers: {} }
  for (let n = 0; n < 20; n += 1) await service.measure(usual, 'owner', callers.owner)
  return service
}

/** A service in a process of its own. */
class HeavyService {
  readonly #child: ChildProcess
  readonly #url: string

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.#url = url
  }

  /** @param oldSpaceMegabytes the most memory for old objects of V8. */
  static async start(database: string, oldSpaceMegabytes: number | null): Promise<HeavyService> {
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
    return new HeavyService(child, url)
  }

  async measure(
    { method, path, headers, body, name }: HeavyRequest,
    caller: CallerName,
    authorization: string,
  ): Promise<Measured> {
    await this.#order('begin')
    const { status, bytes } = await readSlowly(`${this.#url}${path}`, {
      method,
      headers: { authorization, ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? '' : JSON.stringify(body),
    })
    const strain = this.isRunning ? await this.#order('end').catch(() => null) : null
    return { name, caller, status, bytes, strain }
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  async stop(): Promise<void> {
    if (!this.isRunning) return
    const ended = once(this.#child, 'exit')
    this.#child.send('stop' satisfies Order)
    await ended
  }

  async #order(order: Order): Promise<Strain | null> {
    const answer = answerOf<{ strain: Strain | null }>(this.#child)
    this.#child.send(order)
    return (await answer).strain
  }
}

async function answerOf<T>(child: ChildProcess): Promise<T> {
  const waiting = new AbortController()
  const end = once(child, 'exit', { signal: waiting.signal }).then(() => {
    throw new Error('The measured process ended')
  })
  end.catch(() => {})
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal: waiting.signal }), end])) as [T]
    return message
  } finally {
    waiting.abort()
  }
}

/** A client stops after this much, because what a response takes shows before. */
const mostBytes = 48_000_000

/** Reads a response in small pieces, with other work in between, so that the service has to wait for the client. */
async function readSlowly(
  url: string,
  {
    method,
    headers,
    body,
  }: { readonly method: string; readonly headers: Record<string, string>; readonly body: string },
): Promise<{ readonly status: number; readonly bytes: number }> {
  let status = 0
  let bytes = 0
  try {
    const call = request(url, { method, headers, agent: false })
    call.end(body)
    const [answer] = (await once(call, 'response')) as [IncomingMessage]
    status = answer.statusCode ?? 0
    for await (const chunk of answer) {
      bytes += (chunk as Buffer).length
      for (let turns = 0; turns < 20; turns += 1) await setImmediate()
      if (bytes > mostBytes) break
    }
  } catch {
    // The service closed the connection. An answer that began is a failure too.
    return { status: 0, bytes }
  }
  return { status, bytes }
}
