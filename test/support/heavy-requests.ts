/** Sends every GET request of the route table for a heavy actor, as each caller, and measures the service. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type { CallerName, HeavyActor } from './heavy-actor.ts'
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
  readonly callers: readonly CallerName[]
  /** How many of these requests are sent at once. Default: 1. */
  readonly copies?: number
}

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
  /** Processor time of one pause. */
  readonly cpuMs: number
  /** Statements of one pause. */
  readonly statements: number
}

/** Whether the request took more memory or time than it may, or the service failed. */
export function isOffender({ status, strain }: Measured, { megabytes, cpuMs, statements }: Limits): boolean {
  if (strain === null || status === 0 || status >= 500) return true
  return strain.megabytes > megabytes || strain.cpuMs > cpuMs || strain.statements > statements
}

/** One request for each GET route below an actor, and further forms of those that read much. */
export function heavyReads(actor: HeavyActor): readonly HeavyRequest[] {
  const of = (name: string, path: string, headers: Readonly<Record<string, string>> = {}): HeavyRequest => ({
    name,
    method: 'GET',
    path: path.replace(':actor', actor.id),
    headers,
    callers: [isPage(path) ? 'browser' : 'owner', 'peer', 'app'],
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
    of('propertyPage of a long value', '/:actor/www/properties/color'),
    of('peerPage of a question', `/:actor/www/trust/${samplePeer}?ask=properties.read&target=color`),
    of('peerPage of a request', '/:actor/www/trust/asking'),
    of('peerPage of an app', `/:actor/www/trust/${encodeURIComponent(actor.appPeer)}`),
    of('propertyPage with its viewers', '/:actor/www/properties/color?viewers=1'),
    of('trustPage searched', '/:actor/www/trust?q=peer'),
    ...mcpReads(),
  ]
}

/** Requests of the owner that change much, in an order in which each meets the data of the others. */
export function heavyWrites(actor: HeavyActor): readonly HeavyRequest[] {
  const of = (method: string, name: string, path: string, body?: unknown): HeavyRequest => ({
    name,
    method,
    path: `/${actor.id}${path}`,
    headers: {},
    callers: ['owner'],
    ...(body === undefined ? {} : { body }),
  })
  const many = Object.fromEntries(Array.from({ length: 15_000 }, (_, n) => [`a name of a short value ${n}`, { n }]))
  return [
    of('PUT', 'putProperty long', '/properties/color', 'v'.repeat(1_900_000)),
    { ...of('PUT', 'putProperty long, 8 at once', '/properties/color', 'w'.repeat(1_500_000)), copies: 8 },
    of('PUT', 'putProperties of many names', '/properties', many),
    of('POST', 'postProperties of many names', '/properties', many),
    of('POST', 'changeListItem first', '/properties/notes/items', { action: 'delete', item_index: 0 }),
    of('POST', 'postProperty of a list', '/properties/notes', 'x'.repeat(1_900_000)),
    of('DELETE', 'deleteHistory', '/history'),
    of('DELETE', 'deleteProperty of a list', '/properties/notes'),
    of('DELETE', 'deleteProperties', '/properties'),
    of('DELETE', 'deleteTrust', `/trust/friend/${samplePeer}`),
    of('DELETE', 'deleteActor', ''),
  ]
}

/** Requests of an AI client. */
function mcpReads(): readonly HeavyRequest[] {
  const of = (method: string, params: object = {}, what = method): HeavyRequest => ({
    name: `mcp ${what}`,
    method: 'POST',
    path: '/mcp',
    headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' },
    body: { jsonrpc: '2.0', id: 1, method, params },
    callers: ['client'],
  })
  const read = (place: string): HeavyRequest =>
    of('resources/read', { uri: `actingweb://properties/${place}` }, `resources/read ${place}`)
  return [
    of('tools/list'),
    of('prompts/list'),
    of('resources/list'),
    of('resources/templates/list'),
    read('all'),
    read('color'),
    read('notes'),
    read('notes/items/5000'),
  ]
}

export interface HeavyRun {
  readonly limits: Limits
  /** Null: the default of Node.js. */
  readonly oldSpaceMegabytes: number | null
  /** The last repetition is measured, because the first ones contain the compilation of the code. */
  readonly repetitions: number
  /** The requests before the measurements, each of which reads all properties. Default: 10. */
  readonly warmUps?: number
  /** Whether each measurement begins with a collection of garbage. With a small heap, it needs none. Default: true. */
  readonly collects?: boolean
  /** The client stops after this much of a response, because what a response takes shows before. */
  readonly maxBytes: number
  readonly onMeasured?: (one: Measured) => void
}

/** Sends the requests as each caller, one after the other. */
export async function measureHeavy(
  database: string,
  actor: HeavyActor,
  requests: readonly HeavyRequest[],
  { limits, oldSpaceMegabytes, repetitions, maxBytes, warmUps = 10, collects = true, onMeasured = () => {} }: HeavyRun,
): Promise<readonly Measured[]> {
  const measured: Measured[] = []
  if (requests.length === 0) return measured
  let service = await startWarm(database, actor, { oldSpaceMegabytes, warmUps })
  const measure = async (request: HeavyRequest, caller: CallerName): Promise<Measured> => {
    const begin = { begin: collects ? 'begin' : 'continue', maxBytes } as const
    let one = await service.measure(request, caller, actor.callers[caller], begin)
    for (let repeated = 1; repeated < repetitions && service.isRunning; repeated += 1)
      one = await service.measure(request, caller, actor.callers[caller], begin)
    return one
  }
  for (const request of requests) {
    for (const caller of request.callers) {
      let one = await measure(request, caller)
      let isBad = isOffender(one, limits)
      // The memory that an offender leaves to its process would hide the next one, and the garbage of the requests before
      // makes offenders. So it is measured again in new processes, and offends if it does so in each. Changes are not repeated.
      for (let again = 0; isBad && again < 2 && isRead(request); again += 1) {
        await service.stop()
        service = await startWarm(database, actor, { oldSpaceMegabytes, warmUps })
        const next = await measure(request, caller)
        isBad = isOffender(next, limits)
        if (!isBad) one = next
      }
      measured.push(one)
      onMeasured(one)
      if (!isBad) continue
      await service.stop()
      service = await startWarm(database, actor, { oldSpaceMegabytes, warmUps })
    }
  }
  await service.stop()
  return measured
}

/** Requests of an AI client only read here. */
function isRead({ method, path }: HeavyRequest): boolean {
  return method === 'GET' || path === '/mcp'
}

function isPage(path: string): boolean {
  return path.startsWith('/:actor/www')
}

/** The first requests of a process always grow its heap. */
async function startWarm(
  database: string,
  { id, callers }: HeavyActor,
  { oldSpaceMegabytes, warmUps }: Pick<HeavyRun, 'oldSpaceMegabytes'> & { readonly warmUps: number },
): Promise<HeavyService> {
  const service = await HeavyService.start(database, oldSpaceMegabytes)
  const usual: HeavyRequest = {
    name: 'usual',
    method: 'GET',
    path: `/${id}/properties?metadata=true`,
    headers: {},
    callers: ['owner'],
  }
  for (let n = 1; n <= warmUps; n += 1)
    await service.measure(usual, 'owner', callers.owner, { begin: n === warmUps ? 'begin' : 'continue' })
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
    { method, path, headers, body, name, copies = 1 }: HeavyRequest,
    caller: CallerName,
    credentials: Readonly<Record<string, string>>,
    { begin, maxBytes = Number.MAX_SAFE_INTEGER }: { readonly begin: Order; readonly maxBytes?: number },
  ): Promise<Measured> {
    await this.#order(begin)
    const sent = {
      method,
      headers: { ...credentials, ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? '' : JSON.stringify(body),
      maxBytes,
    }
    const answers = await Promise.all(Array.from({ length: copies }, () => readSlowly(`${this.#url}${path}`, sent)))
    // One failure is the outcome of all.
    const failed = answers.find((answer) => answer.status === 0 || answer.status >= 500)
    const { status, bytes } = failed ?? answers[0] ?? { status: 0, bytes: 0 }
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
    const call = request(url, { method, headers, agent: false })
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
