/**
 * A separate process with a store: opens the store in argv[2], prints "open", then increments the property "count" of actor
 * "a" argv[3] times, and prints "done". It prints an error as one line of JSON to standard output.
 */
import { ServiceError } from '../../src/errors.ts'
import type { Migration } from '../../src/store/migrate.ts'
import { openStore } from '../../src/open-store.ts'

const [, , url = '', times = '0', migrations = ''] = process.argv
const say = (line: string): void => void process.stdout.write(`${line}\n`)

try {
  say('starting')
  const own = migrations === '' ? {} : { migrations: JSON.parse(migrations) as Migration[] }
  const store = await openStore({ url, ...own })
  say('open')
  for (let count = 0; count < Number(times); count++) {
    await store.writeActor('a', async (tx) => {
      const row = await tx.get<{ value: string }>(
        'SELECT value FROM property WHERE actor_id = $1 AND name = $2',
        'a',
        'count',
      )
      const next = String(Number(row?.value ?? '0') + 1)
      await tx.run(
        `INSERT INTO property (actor_id, name, kind, value) VALUES ($1, 'count', 'value', $2)
         ON CONFLICT (actor_id, name) DO UPDATE SET value = excluded.value`,
        'a',
        next,
      )
    })
  }
  await store.close()
  say('done')
} catch (error) {
  const code = error instanceof ServiceError ? error.code : undefined
  say(JSON.stringify({ name: (error as Error).name, message: (error as Error).message, code }))
}
