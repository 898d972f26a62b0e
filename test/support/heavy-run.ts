/** Sends requests for a heavy actor to a service in a process of its own, and measures the process. */
import type { CallerName, HeavyActor } from './heavy-actor.ts'
import { HeavyProcess, type Measured } from './heavy-process.ts'
import type { HeavyRequest } from './heavy-requests.ts'

export interface Limits {
  readonly megabytes: number
  /** Processor time of one pause. */
  readonly cpuMs: number
  /** Statements of one pause. */
  readonly statements: number
}

export interface HeavyRun {
  readonly limits: Limits
  /** Null: the default of Node.js. */
  readonly oldSpaceMegabytes: number | null
  /** The last repetition is measured, because the first ones contain the compilation of the code. */
  readonly repetitions: number
  /** How often a request beyond the limits is measured again, in new processes. Default: 2. */
  readonly secondLooks?: number
  /** The requests before the measurements, each of which reads all properties. Default: 10. */
  readonly warmUps?: number
  /** Whether each measurement begins with a collection of garbage. With a small heap, it needs none. Default: true. */
  readonly collects?: boolean
  /** The client stops after this much of a response, because what a response takes shows before. */
  readonly maxBytes: number
  readonly onMeasured?: (one: Measured) => void
}

/** Whether the request took more memory or time than it may, or the service failed. */
export function isOffender({ status, strain }: Measured, { megabytes, cpuMs, statements }: Limits): boolean {
  if (strain === null || status === 0 || status >= 500) return true
  return strain.megabytes > megabytes || strain.cpuMs > cpuMs || strain.statements > statements
}

/** Sends requests that only read, as each caller, one after the other. */
export async function measureHeavy(
  database: string,
  actor: HeavyActor,
  requests: readonly HeavyRequest[],
  run: HeavyRun,
): Promise<readonly Measured[]> {
  const measured: Measured[] = []
  let service: HeavyProcess | undefined
  const measure = async (request: HeavyRequest, caller: CallerName): Promise<Measured> => {
    service ??= await startWarm(database, actor, run)
    return measureLast(service, { request, caller, actor }, run)
  }
  const end = async (): Promise<void> => {
    await service?.stop()
    service = undefined
  }
  for (const request of requests)
    for (const caller of request.callers) {
      let one = await measure(request, caller)
      // The memory that an offender leaves to its process would hide the next one, and what was there before makes offenders. So
      // it is measured again in new processes, and offends if it does so in each.
      for (let looks = run.secondLooks ?? 2; isOffender(one, run.limits) && looks > 0; looks -= 1) {
        await end()
        one = lesser(one, await measure(request, caller), run.limits)
      }
      measured.push(one)
      run.onMeasured?.(one)
      // The memory that requests leave adds up.
      if (isOffender(one, run.limits) || (service?.leftMegabytes ?? 0) > run.limits.megabytes / 4) await end()
    }
  await end()
  return measured
}

/**
 * Sends requests that change the actor. Each one meets a copy of the data, so that none measures what another one has left.
 *
 * @param copy Copies the database, and returns the URL of the copy.
 */
export async function measureHeavyChanges(
  copy: () => Promise<{ readonly url: string; readonly remove: () => Promise<void> }>,
  actor: HeavyActor,
  requests: readonly HeavyRequest[],
  run: HeavyRun,
): Promise<readonly Measured[]> {
  const measured: Measured[] = []
  for (const request of requests) {
    let results = await measureOnCopy(copy, actor, request, run)
    for (let looks = run.secondLooks ?? 2; looks > 0; looks -= 1) {
      if (!results.some((one) => isOffender(one, run.limits))) break
      const again = await measureOnCopy(copy, actor, request, run)
      results = results.map((one, place) => lesser(one, again[place] ?? one, run.limits))
    }
    for (const one of results) run.onMeasured?.(one)
    measured.push(...results)
  }
  return measured
}

async function measureOnCopy(
  copy: () => Promise<{ readonly url: string; readonly remove: () => Promise<void> }>,
  actor: HeavyActor,
  request: HeavyRequest,
  run: HeavyRun,
): Promise<readonly Measured[]> {
  const { url, remove } = await copy()
  const service = await startWarm(url, actor, run)
  const measured: Measured[] = []
  try {
    for (const caller of request.callers)
      measured.push(await measureLast(service, { request, caller, actor }, { ...run, repetitions: 1 }))
  } finally {
    await service.stop()
    await remove()
  }
  return measured
}

async function measureLast(
  service: HeavyProcess,
  {
    request,
    caller,
    actor,
  }: { readonly request: HeavyRequest; readonly caller: CallerName; readonly actor: HeavyActor },
  { repetitions, collects = true, maxBytes }: HeavyRun,
): Promise<Measured> {
  const begin = { begin: collects ? 'begin' : 'continue', maxBytes } as const
  let one = await service.measure(request, caller, actor.callers, begin)
  for (let repeated = 1; repeated < repetitions && service.isRunning; repeated += 1)
    one = await service.measure(request, caller, actor.callers, begin)
  return one
}

/** The measurement that is further below the limits. Other work of the machine only adds to one. */
function lesser(one: Measured, other: Measured, { megabytes, cpuMs, statements }: Limits): Measured {
  const share = ({ status, strain }: Measured): number =>
    strain === null || status === 0 || status >= 500
      ? Number.POSITIVE_INFINITY
      : Math.max(strain.megabytes / megabytes, strain.cpuMs / cpuMs, strain.statements / statements)
  return share(other) < share(one) ? other : one
}

/** The first requests of a process always grow its heap. */
async function startWarm(
  database: string,
  { id, callers }: HeavyActor,
  { oldSpaceMegabytes, warmUps = 10 }: HeavyRun,
): Promise<HeavyProcess> {
  const service = await HeavyProcess.start(database, oldSpaceMegabytes)
  const usual: HeavyRequest = {
    name: 'usual',
    method: 'GET',
    path: `/${id}/properties?metadata=true`,
    headers: {},
    callers: ['owner'],
  }
  for (let n = 1; n <= warmUps; n += 1)
    await service.measure(usual, 'owner', callers, { begin: n === warmUps ? 'begin' : 'continue' })
  return service
}
