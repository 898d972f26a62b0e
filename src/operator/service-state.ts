/** The state of the whole service for operators: its processes, its database, its backups, and what needs attention. */
import { otherKnownAddress } from '../config/known-address.ts'
import { everyAddressWarning } from '../config/every-address.ts'
import type { Config } from '../config/options.ts'
import { plainHttpWarning } from '../config/plain-http.ts'
import { countJobs } from '../job/job-store.ts'
import type { Queries, Store, StoreUsage } from '../store/store.ts'
import { findProcesses, type RunningProcess, silentMs } from './processes.ts'

/** A problem that needs attention. Pages have the words of each kind. */
export type StateFinding =
  | { readonly kind: 'plainHttp' }
  | { readonly kind: 'everyAddress' }
  | { readonly kind: 'otherAddress'; readonly known: string }
  | { readonly kind: 'noBackups' }
  | { readonly kind: 'lateBackup'; readonly everyHours: number }
  | { readonly kind: 'fullDisk'; readonly freeBytes: number }
  | { readonly kind: 'silentProcess'; readonly hosts: readonly string[] }
  | { readonly kind: 'severalReleases'; readonly releases: readonly string[] }
  | { readonly kind: 'closedMetrics' }
  | { readonly kind: 'waitingMail'; readonly since: number }

export interface WorkCount {
  /** `event`, `alarm`, `import`, `mail` or the queue of another feature. */
  readonly kind: string
  /** Queues with work, due alarms, or waiting messages. */
  readonly due: number
  /** Entries that wait for a retry by an operator. */
  readonly failed: number
}

/** Times are Unix milliseconds. */
export interface ServiceStateReport {
  readonly findings: readonly StateFinding[]
  readonly processes: readonly (RunningProcess & { readonly isSilent: boolean })[]
  readonly usage: StoreUsage
  /** The newest complete scheduled backup. Null: none is complete. `off`: no backups are scheduled. */
  readonly backupAt: number | null | 'off'
  readonly work: readonly WorkCount[]
}

export interface ServiceStateDeps {
  readonly store: Store
  readonly baseUrl: string
  readonly config: Pick<
    Config,
    'mode' | 'host' | 'port' | 'trustedProxies' | 'backups' | 'backupsEveryHours' | 'metricsToken'
  >
  /** The time of the newest complete backup in the folder. Null: none is complete. */
  readonly newestBackup: (root: string) => Promise<number | null>
}

const hourMs = 3_600_000
/** Less space than this is a finding: the reserve for deletions and some hours of a small service. */
const littleSpace = 1_073_741_824
/** A message that waits for longer was refused, or nothing sends it. */
const lateMailMs = 15 * 60_000

export async function serviceState(deps: ServiceStateDeps): Promise<ServiceStateReport> {
  const { store } = deps
  const now = store.now()
  const [usage, backupAt, work, processes, mailSince] = await Promise.all([
    store.usage(),
    backupTime(deps),
    countJobs(store, now),
    store.read(findProcesses),
    store.read(oldestMail),
  ])
  const shown = processes.map((each) => ({ ...each, isSilent: now - each.seenAt > silentMs }))
  const facts = { usage, backupAt, processes: shown, mailSince, now }
  return {
    findings: [...(await settingFindings(deps)), ...stateFindings(deps, facts)],
    processes: shown,
    usage,
    backupAt,
    work: work.toSorted((a, b) => (a.kind < b.kind ? -1 : 1)),
  }
}

async function backupTime({ config, newestBackup }: ServiceStateDeps): Promise<number | null | 'off'> {
  // The page stays when the folder cannot be read. A backup that nothing finds is a missing one.
  return config.backups === null ? 'off' : newestBackup(config.backups).catch(() => null)
}

/** When the oldest waiting message to a person was stored. Null: none waits. */
async function oldestMail(q: Queries): Promise<number | null> {
  const row = await q.get<{ since: number | null }>(
    `/* operator */ SELECT MIN(created_at) AS since FROM job WHERE kind = 'mail' AND due_at IS NOT NULL`,
  )
  return row?.since ?? null
}

/** Problems of the settings in production, as `troupe doctor` names them. */
async function settingFindings({ store, baseUrl, config }: ServiceStateDeps): Promise<StateFinding[]> {
  const found: StateFinding[] = []
  const known = await otherKnownAddress(store, baseUrl)
  if (known !== null) found.push({ kind: 'otherAddress', known })
  if (config.mode !== 'production') return found
  if (plainHttpWarning({ baseUrl, config }) !== null) found.push({ kind: 'plainHttp' })
  if (everyAddressWarning(config) !== null) found.push({ kind: 'everyAddress' })
  if (config.backups === null && !store.isSharded) found.push({ kind: 'noBackups' })
  if (config.metricsToken === null) found.push({ kind: 'closedMetrics' })
  return found
}

interface StateFacts extends Pick<ServiceStateReport, 'usage' | 'backupAt' | 'processes'> {
  readonly mailSince: number | null
  readonly now: number
}

function stateFindings(
  { config: { backupsEveryHours: everyHours } }: ServiceStateDeps,
  { usage: { freeBytes }, backupAt, processes, mailSince, now }: StateFacts,
): StateFinding[] {
  const found: StateFinding[] = []
  const isLate = backupAt !== 'off' && (backupAt === null || now - backupAt > everyHours * 2 * hourMs)
  if (isLate) found.push({ kind: 'lateBackup', everyHours })
  if (freeBytes !== null && freeBytes < littleSpace) found.push({ kind: 'fullDisk', freeBytes })
  const silent = processes.filter(({ isSilent }) => isSilent)
  if (silent.length > 0) found.push({ kind: 'silentProcess', hosts: [...new Set(silent.map(({ host }) => host))] })
  const releases = [...new Set(processes.filter(({ isSilent }) => !isSilent).map(({ release }) => release))]
  if (releases.length > 1) found.push({ kind: 'severalReleases', releases })
  if (mailSince !== null && now - mailSince > lateMailMs) found.push({ kind: 'waitingMail', since: mailSince })
  return found
}
