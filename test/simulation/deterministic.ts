/**
 * Replaces randomness and threads with deterministic versions for the time of a run.
 * Must be imported before everything else, because modules keep the functions that they imported.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import zlib from 'node:zlib'
import { randomBytes as readByService, readAtOnce } from '../../src/secret/random.ts'
import { type Random, seeded } from '../support/random.ts'

const { randomBytes, randomFillSync, randomUUID } = crypto
let random: Random | null = null

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

/** Makes ids, secrets and nonces repeatable for a seed, because they decide orders. Null restores real randomness. */
export function seedCrypto(seed: number | null): void {
  random = seed === null ? null : seeded(seed ^ 0x5eed)
  // Uses up the bytes that the service has read before.
  readByService(readAtOnce)
}

function bytes(from: Random, size: number): Buffer {
  const made = Buffer.alloc(size)
  for (let index = 0; index < size; index++) made[index] = from.below(256)
  return made
}
