/** Opens the store, checks that the configured keys match it, and creates the runtime. */
import { startKinds } from './actor/declared-kinds.ts'
import { dirname, join, resolve } from 'node:path'
import { rebuildLookups } from './actor/lookup-rebuild.ts'
import { startTypes, type TypeRules } from './permission/declared-types.ts'
import { ActorHandles } from './app/actor-handles.ts'
import { MailPort } from './app/background/mail-port.ts'
import { ConfigError } from './config/config.ts'
import type { Config } from './config/options.ts'
import { type Incarnation, startIncarnation } from './incarnation/incarnation.ts'
import { startAddress } from './config/known-address.ts'
import { plainHttpWarning } from './config/plain-http.ts'
import { Live } from './live/live.ts'
import { createLog, type Log } from './observe/log.ts'
import { createMetrics, type Metrics } from './observe/metrics.ts'
import { readableStandardError } from './observe/readable-log.ts'
import { Tracing } from './observe/tracing.ts'
import { openReadReplicas, openStore, openStoreInMemory, type StoreOptions } from './open-store.ts'
import { limitsIn, Quotas } from './quota/quota.ts'
import { QuotaStore } from './quota/quota-store.ts'
import { release } from './release.ts'
import type { Runtime, RuntimeOptions } from './runtime.ts'
import { developmentKeyRing } from './secret/development-key.ts'
import { KeyCheck } from './secret/key-check.ts'
import { type KeyRing, KeyRingError, parseKeyRing } from './secret/key-ring.ts'
import { CatchUpStore } from './store/catch-up-store.ts'
import type { Store, StoreUsage } from './store/store.ts'
import { type Migration, unknownFeatures } from './store/migrate.ts'
import { TracedStore } from './store/traced-store.ts'
import type { ReadReplicas } from './store/read-replicas.ts'
import { systemTimers } from './timers.ts'

/** `openFile` names a type of SQLite, which rooms cannot import. */
export interface OpenRuntimeOptions extends RuntimeOptions, Pick<StoreOptions, 'openFile'> {}

/** @throws ConfigError, StoreStartError: one sentence for the operator. */
export async function openRuntime(options: OpenRuntimeOptions): Promise<{ runtime: Runtime; keyCheck: KeyCheck }> {
  const { config, identity, registry, baseUrl } = options
  const log =
    options.log ?? createLog(config.logLevel, config.logFormat === 'text' ? readableStandardError() : undefined)
  const metrics = createMetrics(release)
  const keyRing = await keyRingOf(config)
  const database = databaseOptions(options, log, metrics)
  const opened = await openDatabase(options, database)
  const quotas = new Quotas(limitsIn(config))
  const tracing = new Tracing(release)
  const traced = new TracedStore(options.wrapStore?.(opened) ?? opened, tracing)
  const mail = new MailPort(log)
  const store = new CatchUpStore(countingStore(traced, { quotas, metrics, mail }))
  addUsageGauges(metrics, store)
  const { now } = store
  const keyCheck = new KeyCheck(store, keyRing, options.tables, now)
  let readReplicas: ReadReplicas
  let looked: Awaited<ReturnType<typeof firstLook>>
  try {
    readReplicas = await openReadReplicas(store, config.readReplicas, database)
    looked = await firstLook(options, { store, keyCheck, log })
  } catch (error) {
    await opened.close()
    throw error
  }
  const timers = options.timers ?? systemTimers
  const runtime: Runtime = {
    config,
    identity,
    registry,
    baseUrl,
    basePath: new URL(baseUrl).pathname.replace(/\/$/, ''),
    store,
    readReplicas,
    quotas,
    tables: options.tables,
    featureMigrations: options.featureMigrations ?? [],
    now,
    timers,
    random: options.random ?? Math.random,
    maxDirectSubscriptions: options.maxDirectSubscriptions ?? 64,
    keyRing,
    log,
    metrics,
    tracing,
    live: new Live({ store, afterCommit: store.afterCommit, timers, now, log }),
    handles: new ActorHandles(),
    mail,
    redeclared: looked.redeclared,
    continued: continuedOf(looked.incarnation),
  }
  return { runtime, keyCheck }
}

function countingStore(
  store: Store,
  { quotas, metrics, mail }: Pick<Runtime, 'quotas' | 'metrics' | 'mail'>,
): QuotaStore {
  return new QuotaStore(store, quotas, {
    refused: (quota) => metrics.quotaRefused(quota.name),
    near: (actorId) => mail.event({ kind: 'quota', actorId }),
  })
}

/** Checks the database and compares it with the settings and declarations. */
async function firstLook(
  { config, baseUrl, registry, featureMigrations = [] }: RuntimeOptions,
  { store, keyCheck, log }: { readonly store: Store; readonly keyCheck: KeyCheck; readonly log: Log },
): Promise<{ readonly incarnation: Incarnation; readonly redeclared: TypeRules }> {
  if (!(await keyCheck.fits())) throw unfitKeys(config)
  const incarnation = await startIncarnation(store, log)
  const warning = plainHttpWarning({ baseUrl, config })
  if (warning !== null) log.warn(warning)
  await startAddress(store, baseUrl, log)
  await warnOfLeftFeatures(store, featureMigrations, log)
  await rebuildLookups(store, new Set(config.indexedProperties))
  const redeclared = await startTypes(store, registry.trustTypes)
  await startKinds(store, registry, log)
  return { incarnation, redeclared }
}

/** A feature that the application no longer has keeps its tables, whose rows end only with their actors. */
async function warnOfLeftFeatures(store: Store, known: readonly Migration[], log: Log): Promise<void> {
  for (const feature of await unknownFeatures(store, known))
    log.warn(
      { feature },
      `The database has tables of the feature ${feature}, which this application does not have: their rows stay, and archives and moves leave them out`,
    )
}

function openDatabase({ config, inMemory }: RuntimeOptions, database: Omit<StoreOptions, 'url'>): Promise<Store> {
  return inMemory === true ? openStoreInMemory(database) : openStore({ ...database, url: config.database })
}

function addUsageGauges(metrics: Metrics, store: Store): void {
  let asking: Promise<StoreUsage> | undefined
  const add = (name: string, help: string, of: keyof StoreUsage): void =>
    metrics.gauge({ name, help }, async () => {
      // The gauges are read at the same time, so one statement measures for all.
      asking ??= store.usage().finally(() => (asking = undefined))
      return (await asking)[of]
    })
  add('troupe_database_bytes', 'Bytes of the database with its log of changes', 'bytes')
  add('troupe_database_free_bytes', 'Bytes that the disk of a SQLite database has left', 'freeBytes')
  add('troupe_database_waiting', 'Changes and snapshots that wait for a connection to the database', 'waiting')
}

function continuedOf({ previous, beganAt }: Incarnation): Runtime['continued'] {
  return previous === null ? null : { since: beganAt, copiedAt: previous.copiedAt }
}

function databaseOptions(
  { config, now, onQuery, openFile, databaseWaitMs = 0, featureMigrations = [] }: OpenRuntimeOptions,
  log: Log,
  metrics: Metrics,
): Omit<StoreOptions, 'url'> {
  return {
    synchronous: config.synchronous,
    reserveBytes: config.reserveBytes,
    schema: config.databaseSchema,
    workers: config.workers,
    waitMs: databaseWaitMs,
    lockTimeoutMs: config.storeTimeoutSeconds * 1000,
    now,
    openFile,
    featureMigrations,
    log: (level, message, cause) => log[level]({ error: cause }, message),
    onQuery: (sql) => {
      metrics.statementRun()
      onQuery?.(sql)
    },
  }
}

/** @throws ConfigError */
export async function keyRingOf(config: Config): Promise<KeyRing> {
  try {
    return config.secretKeys === null
      ? await developmentKeyRing(developmentKeyFile(config))
      : parseKeyRing(config.secretKeys)
  } catch (error) {
    if (!(error instanceof KeyRingError)) throw error
    throw new ConfigError(
      config.secretKeys === null ? `${error.message}.` : `Cannot use TROUPE_SECRET_KEYS: ${error.message}.`,
    )
  }
}

/** The error for a store that was written with other keys. Every operation that needs a secret would fail. */
export function unfitKeys(config: Config): ConfigError {
  const [keys, remedy] =
    config.secretKeys === null
      ? [`the key in ${developmentKeyFile(config)}`, 'restore the key']
      : ['TROUPE_SECRET_KEYS', 'set the keys']
  return new ConfigError(
    `Cannot decrypt the secrets in the database: ${keys} did not encrypt them. Either ${remedy} that encrypted them, or use another database.`,
  )
}

function developmentKeyFile(config: Config): string {
  const file = /^sqlite:(.+)$/.exec(config.database)?.[1]
  return join(file === undefined ? resolve('data') : dirname(resolve(file)), 'development.key')
}
