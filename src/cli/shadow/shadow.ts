/** `troupe shadow`: repeats reads at two services and reports the differences of their answers, by route. */
import { commandArgs } from '../command-args.ts'
import { printError, printJson } from '../output.ts'
import { isPrivateWay } from '../private-way.ts'
import { stopSignal } from '../stop-signal.ts'
import { UsageError } from '../usage-error.ts'
import { type Answer, type Compared, differenceOf, mediaTypeOf } from './compare-answers.ts'
import { startMirror } from './mirror.ts'
import { type RecordedRequest, recordedRequests } from './recorded-requests.ts'
import { RouteNames, ShadowReport } from './shadow-report.ts'

/** Requests under way at the same time. */
const lanes = 4
const longestWaitMs = 30_000

export async function shadow(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe shadow', args, {
    against: 'string',
    to: 'string',
    requests: 'string',
    listen: 'string',
    ignore: 'string',
    json: 'boolean',
  })
  const against = originOf('--against', options.against)
  const to = originOf('--to', options.to ?? 'http://localhost:3000')
  const { requests, listen } = options
  if (words.length > 0 || (requests === undefined) === (listen === undefined))
    throw new UsageError('Cannot run troupe shadow: expected --requests with a file, or --listen with a port.')
  const compared = { origins: [against.origin, to.origin], ignored: new Set(options.ignore?.split(',')) }
  const run = new Shadow(against, to, compared, await routesOf(to))
  if (requests === undefined) await run.mirror(portOf(listen))
  else await run.repeat(recordedRequests(requests))
  const { report } = run
  if (options.json === true) {
    const { equal, different, skipped, failed, routes } = report
    printJson({ equal, different, skipped, failed, routes })
  } else report.print()
  return report.different + report.failed === 0 ? 0 : 1
}

function originOf(option: string, text: string | undefined): URL {
  const url = text === undefined ? null : URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '')
    throw new UsageError(`Cannot run troupe shadow: expected ${option} with the URL of a service, without a path.`)
  if (!isPrivateWay(url))
    throw new UsageError(
      `Cannot run troupe shadow: the requests have credentials, and ${option} is plain HTTP. Use the https URL, or run it on the machine of the service.`,
    )
  return url
}

function portOf(text: string | undefined): number {
  const port = Number(text)
  if (!Number.isSafeInteger(port) || port < 0 || port > 65_535)
    throw new UsageError('Cannot run troupe shadow: --listen needs a port.')
  return port
}

/** The documented routes of the new service. @throws UsageError when it does not answer. */
async function routesOf(to: URL): Promise<RouteNames> {
  try {
    const answer = await fetch(new URL('/openapi.json', to), { signal: AbortSignal.timeout(longestWaitMs) })
    const { paths } = (await answer.json()) as { paths: object }
    return new RouteNames(Object.keys(paths))
  } catch (error) {
    throw new UsageError(
      `Cannot read the routes of ${to.origin}: ${error instanceof Error ? error.message : String(error)}. Start the new service first.`,
    )
  }
}

class Shadow {
  readonly report = new ShadowReport()
  readonly #against: URL
  readonly #to: URL
  readonly #compared: Compared
  readonly #routes: RouteNames

  constructor(against: URL, to: URL, compared: Compared, routes: RouteNames) {
    this.#against = against
    this.#to = to
    this.#compared = compared
    this.#routes = routes
  }

  /** Requests of one actor keep their order, because a read may have effects: a peer clears diffs by reading them. */
  async repeat(requests: AsyncGenerator<RecordedRequest, void>): Promise<void> {
    const last = new Map<string, Promise<void>>()
    const running = new Set<Promise<void>>()
    for await (const request of requests) {
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        this.report.skipped += 1
        continue
      }
      const [, actor = ''] = request.path.split(/[/?]/, 2)
      const one = this.#after(last.get(actor), request).finally(() => {
        running.delete(one)
        if (last.get(actor) === one) last.delete(actor)
      })
      last.set(actor, one)
      running.add(one)
      if (running.size >= lanes) await Promise.race(running)
    }
    await Promise.all(running)
  }

  async #after(earlier: Promise<void> | undefined, request: RecordedRequest): Promise<void> {
    await earlier
    await this.#compare(request, () => answerFrom(this.#against, request))
  }

  /** Runs until the process is asked to stop. */
  async mirror(port: number): Promise<void> {
    const running = new Set<Promise<void>>()
    const mirror = await startMirror(port, {
      against: this.#against,
      compare: (request, old) => {
        const one = this.#compare(request, async () => old).finally(() => running.delete(one))
        running.add(one)
      },
      pass: () => void (this.report.skipped += 1),
      fail: () => void (this.report.failed += 1),
    })
    printError(
      `http://127.0.0.1:${mirror.port} passes requests on to ${this.#against.origin}. Stop with Ctrl+C for the report.`,
    )
    await stopSignal(process)
    await mirror.close()
    await Promise.all(running)
  }

  async #compare(request: RecordedRequest, askOld: () => Promise<Answer>): Promise<void> {
    try {
      const [old, now] = await Promise.all([askOld(), answerFrom(this.#to, request)])
      this.report.add(this.#routes.of(request.path), request.path, differenceOf(old, now, this.#compared))
    } catch {
      this.report.failed += 1
    }
  }
}

async function answerFrom(service: URL, { method, path, headers }: RecordedRequest): Promise<Answer> {
  // Not relative to the service: a path that begins with two slashes would name another host.
  const answer = await fetch(`${service.origin}${path}`, {
    method,
    headers: { ...headers },
    redirect: 'manual',
    signal: AbortSignal.timeout(longestWaitMs),
  })
  return {
    status: answer.status,
    type: mediaTypeOf(answer.headers.get('content-type')),
    location: answer.headers.get('location') ?? '',
    body: await answer.text(),
  }
}
