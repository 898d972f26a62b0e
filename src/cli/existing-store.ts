/** Opens the configured database for a command that starts no service. */
import { resolveConfig } from '../features/config.ts'
import { processEnvironment } from '../config/env.ts'
import type { Config } from '../config/options.ts'
import { openStore } from '../open-store.ts'
import type { Store } from '../store/store.ts'

export async function withExistingStore<T>(work: (store: Store, config: Config) => Promise<T>): Promise<T> {
  const config = resolveConfig({}, { TROUPE_MODE: 'development', ...processEnvironment() })
  // `mustExist`: with a wrong DATABASE_URL, an empty answer would look like a true result.
  const store = await openStore({
    url: config.database,
    schema: config.databaseSchema,
    workers: 2,
    mustExist: true,
    reserveBytes: config.reserveBytes,
  })
  try {
    return await work(store, config)
  } finally {
    await store.close()
  }
}

/** The URL of the service in these settings, without a trailing slash. */
export function publicUrlOf({ baseUrl, port }: Pick<Config, 'baseUrl' | 'port'>): string {
  return (baseUrl ?? `http://localhost:${port}`).replace(/(?<!\/)\/+$/, '')
}
