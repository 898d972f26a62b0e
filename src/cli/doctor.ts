/** `troupe doctor`: checks what a start needs, without serving, creating or migrating anything. */
import { open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { newestBackup } from '../backup/run-backup.ts'
import { ConfigError } from '../config/config.ts'
import { processEnvironment } from '../config/env.ts'
import type { Config } from '../config/options.ts'
import { strayObjects, wrongContents } from '../object/compare-contents.ts'
import { hasFileStorage, openFileBytes } from '../object/open-bytes.ts'
import { findIncarnation } from '../incarnation/incarnation.ts'
import { addressWarning, otherKnownAddress } from '../config/known-address.ts'
import { everyAddressWarning } from '../config/every-address.ts'
import { plainHttpWarning } from '../config/plain-http.ts'
import { settingIn } from '../config/secret-file.ts'
import { requireRecentRun } from '../job/runs.ts'
import { countAllPeers } from '../moving/arrival-store.ts'
import { release } from '../release.ts'
import { contentKindsOf } from '../table/table.ts'
import { recount } from '../quota/recount.ts'
import { quotasWith } from '../quotas.ts'
import { damagedValues } from '../property/maintenance/damaged-values.ts'
import { ringFits, unreadableSecrets } from '../secret/key-check.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { keyRingOf, unfitKeys } from '../open-runtime.ts'
import { missingScaleSteps, openStore } from '../open-store.ts'
import { ConfiguredProviders, environmentProviders, outsidePlans } from '../sign-in/configured.ts'
import { KeySets } from '../sign-in/providers/key-sets.ts'
import { Outbound } from '../sign-in/providers/outbound.ts'
import { createLog } from '../observe/log.ts'
import { unknownFeatures } from '../store/migrate.ts'
import { NotCreatedError, StoreStartError } from '../store/start-error.ts'
import type { Store } from '../store/store.ts'
import { addressProblem } from './public-address.ts'
import { commandArgs } from './command-args.ts'
import { publicUrlOf } from './existing-store.ts'
import { UsageError } from './usage-error.ts'
import { where } from './welcome.ts'
import { peersLine, print, timeText } from './output.ts'
import { projectConfig, projectLocalChecks, projectTables } from './project/known-project.ts'

const maxNamed = 100

export async function doctor(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe doctor', args, { actor: 'string', json: 'boolean' })
  const [word, ...more] = words
  const isDeep = word === 'deep'
  if (more.length === 0 && /^https?:\/\//.test(word ?? '')) return checkFromOutside(word ?? '', options)
  if (more.length > 0 || Object.keys(options).length > 0 || ![undefined, 'address', 'deep'].includes(word))
    throw new UsageError('Cannot run troupe doctor: expected the URL of a service, deep, address or no argument.')
  if (word === 'address') return checkAddress()
  print(
    `troupe    ${release} on Node.js ${process.versions.node}, SQLite ${process.versions['sqlite'] ?? 'of the runtime'}`,
  )
  const config = projectConfig()
  print(`mode      ${config.mode}`)
  print(`address   ${publicUrlOf(config)}`)
  const warning = plainHttpWarning({ baseUrl: publicUrlOf(config), config })
  if (warning !== null) print(`http      ${warning}`)
  print(`port      ${everyAddressWarning(config) ?? `${config.port} of ${config.host}`}`)
  print(`metrics   ${stateOfMetrics(config)}`)
  const ring = await keyRingOf(config)
  print(`keys      ${[...ring.keys.keys()].join(', ')} (the first one encrypts)`)
  print(`database  ${await stateOf(config, ring, isDeep)}`)
  if (config.backups !== null) print(`backups   ${await stateOfBackups(config.backups, config)}`)
  for (const { name, state } of projectLocalChecks()) {
    const found = await state({ config, baseUrl: publicUrlOf(config), now: Date.now() })
    if (found !== null) print(`${name.padEnd(9)} ${found}`)
  }
  await reportProviders(config)
  print('Everything that a start needs is present.')
  return 0
}

function stateOfMetrics({ metricsToken, mode }: Config): string {
  if (metricsToken !== null) return 'open to clients with TROUPE_METRICS_TOKEN'
  return mode === 'production' ? 'closed: TROUPE_METRICS_TOKEN opens them for Prometheus' : 'open, in development only'
}

/** Discovers the providers of the environment as a sign-in does. The service starts without them, so none of them fails the command. */
async function reportProviders(config: Config): Promise<void> {
  const { choices, others } = environmentProviders(processEnvironment(), config)
  for (const name of others) print(`sign-in   ${name}: the application configures it, and its start checks it`)
  const outbound = new Outbound({ allowHttp: config.allowHttp, release })
  const now = Date.now
  const deps = { outbound, keySets: new KeySets(outbound, now), now, baseUrl: publicUrlOf(config) }
  const providers = new ConfiguredProviders(outsidePlans(choices), { ...deps, log: createLog('silent') })
  try {
    const problems = await providers.problems()
    for (const { name } of providers.all)
      print(`sign-in   ${name}: ${problems.find(({ provider }) => provider === name)?.reason ?? 'no problem found'}`)
  } finally {
    await outbound.close()
  }
}

async function checkFromOutside(
  address: string,
  { actor, json }: { readonly actor?: string; readonly json?: boolean },
): Promise<number> {
  const { checkDeployment } = await import('./deployment/check-deployment.ts')
  const env = processEnvironment()
  // Only the sign-in needs the keys. A stranger who checks a service has no settings.
  const keyRing =
    actor === undefined || settingIn(env, 'TROUPE_SECRET_KEYS', { secret: true }) === null
      ? null
      : await keyRingOf(projectConfig())
  return checkDeployment({ address, actorId: actor, login: env['DOCTOR_LOGIN'], keyRing, isJson: json === true })
}

/** Asks the public address of the running service. @throws ConfigError when it does not lead to a service with these keys. */
async function checkAddress(): Promise<number> {
  const config = projectConfig()
  const baseUrl = publicUrlOf(config)
  const problem = await addressProblem(baseUrl, { keyRing: await keyRingOf(config) })
  if (problem !== null) throw new ConfigError(problem)
  print(`${baseUrl} leads to this service.`)
  return 0
}

/** Describes the state of the database. @throws StoreStartError for an unreachable or damaged database. */
async function stateOf(config: Config, ring: KeyRing, isDeep: boolean): Promise<string> {
  const url = config.database
  let store: Store
  try {
    const { featureMigrations } = projectTables()
    store = await openStore({ url, schema: config.databaseSchema, workers: 1, mustExist: true, featureMigrations })
  } catch (error) {
    if (error instanceof NotCreatedError) return error.message
    throw error
  }
  try {
    await store.ping()
    if (store.dialect === 'sqlite') await requireSound(store, url)
    if (!(await ringFits(store, ring, projectTables().tables))) throw unfitKeys(config)
    await reportFeatures(store)
    const place = await placeOf(config)
    await reportPeers(store, publicUrlOf(config))
    if (isDeep) {
      await requireIntactValues(store, url)
      await requireReadableSecrets(store, ring, url)
      await correctCounts(store)
      await requireContents(store, config)
    }
    const { actors = 0 } =
      (await store.read((q) => q.get<{ actors: number }>('SELECT count(*) AS actors FROM actor'))) ?? {}
    return `${store.dialect}, ${where(url)}: answers, ${actors} ${actors === 1 ? 'actor' : 'actors'}${place}, ${await speedOf(store, url)}${await continuationOf(store)}`
  } finally {
    await store.close()
  }
}

/** A start without a feature works, and commands that would leave out its rows do not. */
async function reportFeatures(store: Store): Promise<void> {
  for (const feature of await unknownFeatures(store, projectTables().featureMigrations))
    print(`features  ${feature}: the database has its tables, and TROUPE_APP names no application that has it`)
}

/** Names the address that peers know when it is another one, and counts the peers that learn, or do not learn, an address. */
async function reportPeers(store: Store, baseUrl: string): Promise<void> {
  const other = await otherKnownAddress(store, baseUrl)
  if (other !== null) print(`peers     ${addressWarning(baseUrl, other)}`)
  const counts = await countAllPeers(store)
  if (Object.keys(counts).length > 0) print(peersLine(counts))
}

/** Names the copy that the database is, or that it continues. */
async function continuationOf(store: Store): Promise<string> {
  const found = await store.read(findIncarnation)
  if (found === null) return ''
  if (found.copiedAt !== null)
    return `, a copy of ${timeText(found.copiedAt)}: the next start begins a new incarnation and renews all copies of subscriptions`
  const { previous, beganAt } = found
  if (previous === null) return ''
  const of = previous.copiedAt === null ? '' : ` of ${timeText(previous.copiedAt)}`
  return `, continues a copy${of} since ${timeText(beganAt)}`
}

/** Corrects what quotas count, and names what was wrong. */
async function correctCounts(store: Store): Promise<void> {
  let corrected = 0
  await recount(store, quotasWith(projectTables().tables), ({ actorId, quota, counted, used }) => {
    corrected += 1
    if (corrected <= maxNamed) print(`corrected actor ${actorId}: ${used} ${quota.unit}, and not ${counted}`)
  })
  if (corrected > maxNamed) print(`corrected ${corrected} counts in all`)
}

/** A disk that needs longer makes every change slow (milliseconds). */
const slowSyncMs = 20

/** Measures how long a change waits for the disk, with a small file beside the database or a message in its log. */
async function speedOf(store: Store, url: string): Promise<string> {
  const sync =
    store.dialect === 'sqlite'
      ? await syncTimeOf(dirname(url.slice('sqlite:'.length)))
      : await medianOf(() => store.write((tx) => tx.all(`SELECT pg_logical_emit_message(true, 'troupe doctor', '')`)))
  const slow = sync > slowSyncMs ? ', which is slow: use a local disk, not a network share' : ''
  return `a change waits ${sync.toFixed(1)} ms for the disk${slow}`
}

async function syncTimeOf(folder: string): Promise<number> {
  const path = join(folder, `.troupe-doctor-${process.pid}`)
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    throw new StoreStartError(
      `Cannot write to the folder ${folder} of the database: ${error instanceof Error ? error.message : String(error)}.`,
      error,
    )
  })
  try {
    return await medianOf(async () => {
      await file.write('x'.repeat(4096), 0)
      await file.datasync()
    })
  } finally {
    await file.close()
    await rm(path, { force: true })
  }
}

/** The median time of a run, in milliseconds. */
async function medianOf(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < 11; n++) {
    const begun = performance.now()
    await work()
    times.push(performance.now() - begun)
  }
  return times.toSorted((a, b) => a - b)[5] ?? 0
}

/** @throws ConfigError when no backup is recent enough. */
async function stateOfBackups(root: string, { backupsEveryHours }: Config): Promise<string> {
  return requireRecentRun('backups', await newestBackup(root), { everyHours: backupsEveryHours, now: Date.now() })
}

/** @throws StoreStartError for a database whose tables are only partly distributed. */
async function placeOf({ database: url, databaseSchema: schema }: Config): Promise<string> {
  const missing = await missingScaleSteps({ url, schema, ...projectTables() })
  if (missing === null) return ''
  const [first] = missing
  if (first !== undefined)
    throw new StoreStartError(
      `The database ${where(url)} is only partly distributed: ${missing.length} steps are missing, the first is "${first.title}"; run troupe scale init.`,
    )
  return ', distributed by Citus'
}

/** Verifies the checksum of every value, which finds flipped bits. @throws StoreStartError for damaged values. */
async function requireIntactValues(store: Store, url: string): Promise<void> {
  let count = 0
  for await (const { actorId, name } of damagedValues(store)) {
    count += 1
    if (count <= maxNamed) print(`damaged   ${JSON.stringify(name)} of actor ${actorId}`)
  }
  if (count > 0) {
    throw new StoreStartError(
      `The database ${where(url)} has ${count} damaged ${count === 1 ? 'value' : 'values'}: restore a backup, or write them again.`,
    )
  }
}

/** Decrypts every secret. @throws StoreStartError for secrets that no configured key decrypts. */
async function requireReadableSecrets(store: Store, ring: KeyRing, url: string): Promise<void> {
  let count = 0
  for await (const reason of unreadableSecrets(store, ring, projectTables().tables)) {
    count += 1
    if (count <= maxNamed) print(`secret    ${reason}`)
  }
  if (count > 0) {
    throw new StoreStartError(
      `The database ${where(url)} has ${count} ${count === 1 ? 'secret' : 'secrets'} that no configured key decrypts: add the key that encrypted them, or restore a backup.`,
    )
  }
}

/**
 * Reads the contents of every file, and names the contents that no file has.
 *
 * @throws StoreStartError for files whose contents are missing or damaged.
 */
async function requireContents(store: Store, config: Config): Promise<void> {
  const bytes = openFileBytes(config, false)
  const contents = contentKindsOf(projectTables().tables)
  let wrong = 0
  let stray = 0
  const name = (count: number, line: string): void => {
    if (count <= maxNamed) print(line)
  }
  try {
    if (hasFileStorage(config)) {
      for (const kind of contents)
        for await (const { actorId, name: content, object, problem } of wrongContents(store, bytes, kind))
          name(
            (wrong += 1),
            `${problem.padEnd(9)} ${kind.kind} ${JSON.stringify(content)} of actor ${actorId}, object ${object}`,
          )
      for await (const object of strayObjects(store, bytes)) name((stray += 1), `stray     object ${object}`)
    }
    for (const { table } of hasFileStorage(config) ? [] : contents) {
      const row = await store.read((q) => q.get(`SELECT name FROM ${table} LIMIT 1`))
      if (row !== undefined)
        throw new ConfigError(
          'The database has files, and TROUPE_FILES names no storage: set it to the one with their contents.',
        )
    }
  } finally {
    await bytes.close()
  }
  if (stray > 0)
    print(
      `The storage for files has ${stray} ${stray === 1 ? 'object' : 'objects'} that the database does not name. They need space: delete them if no other service uses this storage.`,
    )
  if (wrong > 0)
    throw new StoreStartError(
      `The storage for files lacks the contents of ${wrong} ${wrong === 1 ? 'file' : 'files'}, or has damaged ones: restore the objects from a backup, or store the files again.`,
    )
}

/** Checks the structure of an SQLite file. It finds inconsistent pages, but no flipped bits within values. */
async function requireSound(store: Store, url: string): Promise<void> {
  const said = await store.read((q) => q.all<{ integrity_check: string }>('PRAGMA integrity_check(1)'))
  const damage = said.map((row) => row.integrity_check).find((word) => word !== 'ok')
  if (damage !== undefined)
    throw new StoreStartError(
      `The database ${where(url)} is damaged: ${damage.split('\n').join(' ')}; restore a backup.`,
    )
}
