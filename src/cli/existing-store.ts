/** Opens the configured database for a command that starts no service. */
import type { Config } from '../config/options.ts'
import type { Store } from '../store/store.ts'
import { commandConfig, openExistingStore } from './project/known-project.ts'

export async function withExistingStore<T>(work: (store: Store, config: Config) => Promise<T>): Promise<T> {
  const config = commandConfig()
  const store = await openExistingStore(config, { workers: 2, reserveBytes: config.reserveBytes })
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
