/** `troupe doctor`: what would happen at a start, without serving anything. */
import { resolveConfig } from '../config/config.ts'
import { processEnvironment } from '../config/env.ts'
import { release } from '../release.ts'
import { keyRingOf } from '../service.ts'
import { openStore } from '../store/open.ts'
import { UsageError } from './usage-error.ts'
import { where } from './welcome.ts'

export async function doctor(args: readonly string[]): Promise<number> {
  if (args.length > 0) throw new UsageError('troupe doctor takes no arguments.')
  const print = (line: string): void => void process.stdout.write(`${line}\n`)
  print(
    `troupe    ${release} on Node.js ${process.versions.node}, SQLite ${process.versions['sqlite'] ?? 'of the runtime'}`,
  )
  const config = resolveConfig({}, processEnvironment())
  print(`mode      ${config.mode}`)
  print(`address   ${config.baseUrl ?? `http://localhost:${config.port}`}`)
  const ring = await keyRingOf(config)
  print(`keys      ${[...ring.keys.keys()].join(', ')} (the first one encrypts)`)
  const store = await openStore({ url: config.database, workers: 1 })
  try {
    await store.ping()
    const row = await store.read((q) => q.get<{ actors: number }>('SELECT count(*) AS actors FROM actor'))
    print(`database  ${store.dialect}, ${where(config.database)}: answers, ${row?.actors ?? 0} actors`)
  } finally {
    await store.close()
  }
  print('Everything that a start needs is there.')
  return 0
}
