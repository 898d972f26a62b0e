/** `troupe keys`: generates encryption keys, and encrypts the stored secrets again with the first key. */
import { resolveConfig } from '../config/config.ts'
import { processEnvironment } from '../config/env.ts'
import { ringFits } from '../secret/key-check.ts'
import { generateKey } from '../secret/key-ring.ts'
import { resealAll } from '../secret/reseal.ts'
import { keyRingOf, unfitKeys } from '../open-runtime.ts'
import { openStore } from '../open-store.ts'
import { UsageError } from './usage-error.ts'
import { print, printError } from './output.ts'

export async function keys(args: readonly string[]): Promise<number> {
  const [what, ...more] = args
  if (more.length === 0 && what === 'new') return newKey()
  if (more.length === 0 && what === 'rotate') return rotate()
  throw new UsageError('Cannot run troupe keys: expected new or rotate.')
}

function newKey(): number {
  print(generateKey())
  if (process.stderr.isTTY) {
    printError(
      'Put it first in TROUPE_SECRET_KEYS, followed by a comma and the old keys; restart every process; then run: troupe keys rotate',
    )
  }
  return 0
}

async function rotate(): Promise<number> {
  const config = resolveConfig({}, { TROUPE_MODE: 'development', ...processEnvironment() })
  // `mustExist`: with a wrong DATABASE_URL, "0 secrets" would lead the operator to remove a key that is still needed.
  const store = await openStore({ url: config.database, schema: config.databaseSchema, workers: 1, mustExist: true })
  try {
    const ring = await keyRingOf(config)
    if (!(await ringFits(store, ring))) throw unfitKeys(config)
    const { resealed } = await resealAll(store, ring)
    print(
      `${resealed} ${resealed === 1 ? 'secret is' : 'secrets are'} now encrypted with key ${ring.currentId}; you can remove the keys after it.`,
    )
  } finally {
    await store.close()
  }
  return 0
}
