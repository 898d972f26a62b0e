/** `troupe doctor`: checks what a start needs, without serving, creating or migrating anything. */
import { ConfigError, resolveConfig } from '../config/config.ts'
import { processEnvironment } from '../config/env.ts'
import type { Config } from '../config/options.ts'
import { release } from '../release.ts'
import { damagedValues } from '../property/maintenance/damaged-values.ts'
import { ringFits, unreadableSecrets } from '../secret/key-check.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { keyRingOf, unfitKeys } from '../open-runtime.ts'
import { missingScaleSteps, openStore } from '../open-store.ts'
import { NotCreatedError, StoreStartError } from '../store/start-error.ts'
import type { Store } from '../store/store.ts'
import { addressProblem } from './public-address.ts'
import { publicUrlOf } from './existing-store.ts'
import { UsageError } from './usage-error.ts'
import { where } from './welcome.ts'

const mostNamed = 100

export async function doctor(args: readonly string[]): Promise<number> {
  const [word, ...more] = args
  const isDeep = word === 'deep'
  if (more.length > 0 || (word !== undefined && word !== 'address' && !isDeep))
    throw new UsageError('Cannot run troupe doctor: expected no argument, deep or address.')
  if (word === 'address') return checkAddress()
  const print = (line: string): void => void process.stdout.write(`${line}\n`)
  print(
    `troupe    ${release} on Node.js ${process.versions.node}, SQLite ${process.versions['sqlite'] ?? 'of the runtime'}`,
  )
  const config = resolveConfig({}, processEnvironment())
  print(`mode      ${config.mode}`)
  print(`address   ${publicUrlOf(config)}`)
  const ring = await keyRingOf(config)
  print(`keys      ${[...ring.keys.keys()].join(', ')} (the first one encrypts)`)
  print(`database  ${await stateOf(config, ring, isDeep)}`)
  print('Everything that a start needs is present.')
  return 0
}

/** Asks the public address of the running service. @throws ConfigError when it does not lead to a service with these keys. */
async function checkAddress(): Promise<number> {
  const config = resolveConfig({}, processEnvironment())
  const baseUrl = publicUrlOf(config)
  const problem = await addressProblem(baseUrl, { keyRing: await keyRingOf(config) })
  if (problem !== null) throw new ConfigError(problem)
  process.stdout.write(`${baseUrl} leads to this service.\n`)
  return 0
}

/** Describes the state of the database. @throws StoreStartError for an unreachable or damaged database. */
async function stateOf(config: Config, ring: KeyRing, isDeep: boolean): Promise<string> {
  const url = config.database
  let store: Store
  try {
    store = await openStore({ url, schema: config.databaseSchema, workers: 1, mustExist: true })
  } catch (error) {
    if (error instanceof NotCreatedError) return error.message
    throw error
  }
  try {
    await store.ping()
    if (store.dialect === 'sqlite') await requireSound(store, url)
    if (!(await ringFits(store, ring))) throw unfitKeys(config)
    const place = await placeOf(config)
    if (isDeep) {
      await requireIntactValues(store, url)
      await requireReadableSecrets(store, ring, url)
    }
    const { actors = 0 } =
      (await store.read((q) => q.get<{ actors: number }>('SELECT count(*) AS actors FROM actor'))) ?? {}
    return `${store.dialect}, ${where(url)}: answers, ${actors} ${actors === 1 ? 'actor' : 'actors'}${place}`
  } finally {
    await store.close()
  }
}

/** @throws StoreStartError for a database whose tables are only partly distributed. */
async function placeOf({ database: url, databaseSchema: schema }: Config): Promise<string> {
  const missing = await missingScaleSteps({ url, schema })
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
    if (count <= mostNamed) process.stdout.write(`damaged   ${JSON.stringify(name)} of actor ${actorId}\n`)
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
  for await (const reason of unreadableSecrets(store, ring)) {
    count += 1
    if (count <= mostNamed) process.stdout.write(`secret    ${reason}\n`)
  }
  if (count > 0) {
    throw new StoreStartError(
      `The database ${where(url)} has ${count} ${count === 1 ? 'secret' : 'secrets'} that no configured key decrypts: add the key that encrypted them, or restore a backup.`,
    )
  }
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
