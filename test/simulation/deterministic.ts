/**
 * Replaces clocks, randomness and threads with deterministic versions for the time of a run.
 * Must be imported before everything else, because modules keep the functions that they imported.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import zlib from 'node:zlib'
// The service loads it later, which takes real time.
import 'jose'
import { randomBytes as readByService, readAtOnce } from '../../src/secret/random.ts'
import { type Random, seeded } from '../support/random.ts'

const { randomBytes, randomFillSync, randomInt, randomUUID, webcrypto } = crypto
const getRandomValues = webcrypto.getRandomValues.bind(webcrypto)
let random: Random | null = null
let now = (): number => 0
/** How often the run has read the monotonic clock. */
let readings = 0

const machine = { date: Date.now, monotonic: performance.now.bind(performance), random: Math.random }
Date.now = () => (random === null ? machine.date() : now())
globalThis.Date = new Proxy(Date, {
  construct: (target, given, made): Date =>
    Reflect.construct(target, given.length === 0 ? [Date.now()] : given, made) as Date,
})
// Moves on with each reading, so that a loop until a deadline ends.
performance.now = () => (random === null ? machine.monotonic() : now() + readings++)
Math.random = () => (random === null ? machine.random() : random.next())

crypto.randomBytes = ((size: number) =>
  random === null ? randomBytes(size) : bytes(random, size)) as typeof crypto.randomBytes
crypto.randomFillSync = (<T extends NodeJS.ArrayBufferView>(view: T): T => {
  if (random === null) return randomFillSync(view)
  bytes(random, view.byteLength).copy(Buffer.from(view.buffer, view.byteOffset, view.byteLength))
  return view
}) as typeof crypto.randomFillSync
crypto.randomUUID = (options) => {
  if (random === null) return randomUUID(options)
  const hex = bytes(random, 16).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}
crypto.randomInt = ((first: number, second?: number) => {
  const [least, end] = second === undefined ? [0, first] : [first, second]
  return random === null ? randomInt(least, end) : least + random.below(end - least)
}) as typeof crypto.randomInt
Object.assign(webcrypto, {
  randomUUID: () => crypto.randomUUID(),
  getRandomValues: <T extends NodeJS.TypedArray>(view: T): T =>
    random === null ? getRandomValues(view as never) : crypto.randomFillSync(view),
})

type Done = (error: Error | null, result: Buffer<ArrayBuffer>) => void
type Work = (input: zlib.InputType, ...rest: readonly unknown[]) => void

/** Runs compression on this thread, because the order in which threads finish is random. */
function here(work: (input: zlib.InputType, options?: zlib.ZlibOptions) => Buffer<ArrayBuffer>): Work {
  return (input, ...rest) => {
    const done = rest.at(-1) as Done
    const options = rest.length > 1 ? (rest[0] as zlib.ZlibOptions) : undefined
    let result: Buffer<ArrayBuffer>
    try {
      result = work(input, options)
    } catch (error) {
      setImmediate(done, error as Error, Buffer.alloc(0))
      return
    }
    setImmediate(done, null, result)
  }
}
zlib.gzip = here(zlib.gzipSync) as typeof zlib.gzip
zlib.gunzip = here(zlib.gunzipSync) as typeof zlib.gunzip
syncBuiltinESMExports()

/** The bytes before the seed of an Ed25519 key in PKCS #8 (RFC 8410). */
const beforeSeed = Buffer.from('302e020100300506032b657004220420', 'hex')
const { subtle } = crypto.webcrypto
const really = {
  generateKey: subtle.generateKey.bind(subtle),
  importKey: subtle.importKey.bind(subtle),
  exportKey: subtle.exportKey.bind(subtle),
  sign: subtle.sign.bind(subtle),
  verify: subtle.verify.bind(subtle),
}
type Usages = readonly crypto.webcrypto.KeyUsage[]
type Key = crypto.webcrypto.CryptoKey

const toKey = (key: crypto.KeyObject, usages: Usages): Key =>
  (key as unknown as { toCryptoKey(...given: unknown[]): Key }).toCryptoKey('Ed25519', true, usages)

/** Signs and verifies with Ed25519 on this thread, and makes keys from the seed of the run. */
Object.assign(subtle, {
  generateKey: (algorithm: unknown, isExtractable: boolean, usages: Usages) => {
    if (random === null) return really.generateKey(algorithm as never, isExtractable, usages as never)
    const der = Buffer.concat([beforeSeed, bytes(random, 32)])
    const privateKey = crypto.createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    const publicKey = crypto.createPublicKey(privateKey)
    return Promise.resolve({ privateKey: toKey(privateKey, ['sign']), publicKey: toKey(publicKey, ['verify']) })
  },
  importKey: (format: string, jwk: crypto.webcrypto.JsonWebKey, ...rest: readonly unknown[]) => {
    if (random === null || format !== 'jwk')
      return really.importKey(format as never, jwk as never, ...(rest as [never, never, never]))
    const key =
      jwk.d === undefined
        ? crypto.createPublicKey({ key: jwk, format: 'jwk' })
        : crypto.createPrivateKey({ key: jwk, format: 'jwk' })
    return Promise.resolve(toKey(key, jwk.d === undefined ? ['verify'] : ['sign']))
  },
  exportKey: (format: string, key: Key) =>
    random === null || format !== 'jwk'
      ? really.exportKey(format as never, key)
      : Promise.resolve(crypto.KeyObject.from(key).export({ format: 'jwk' })),
  sign: (algorithm: unknown, key: Key, data: Uint8Array) =>
    random === null
      ? really.sign(algorithm as never, key, data as never)
      : Promise.resolve(crypto.sign(null, data, crypto.KeyObject.from(key))),
  verify: (algorithm: unknown, key: Key, signature: Uint8Array, data: Uint8Array) =>
    random === null
      ? really.verify(algorithm as never, key, signature as never, data as never)
      : Promise.resolve(crypto.verify(null, data, crypto.KeyObject.from(key), signature)),
})

/** Where a run gets its clocks, ids, secrets and nonces from, which decide orders. */
export interface RunSource {
  readonly seed: number
  /** The virtual time, in Unix milliseconds. */
  readonly now: () => number
}

/** Makes clocks and randomness repeatable for a run. Null restores those of the machine. */
export function seedProcess(run: RunSource | null): void {
  random = run === null ? null : seeded(run.seed ^ 0x5eed)
  now = run?.now ?? (() => 0)
  readings = 0
  // Uses up the bytes that the service has read before.
  readByService(readAtOnce)
}

function bytes(from: Random, size: number): Buffer {
  const made = Buffer.alloc(size)
  for (let index = 0; index < size; index++) made[index] = from.below(256)
  return made
}
