/** Stores one number after the other in the property "count" of actor "a", from argv[3] on, and says each once it is answered. */
import { openStore } from '../../src/open-store.ts'

const store = await openStore({ url: process.argv[2] ?? '' })
for (let count = Number(process.argv[3]) + 1; ; count++) {
  await store.writeActor('a', (tx) =>
    tx.run(
      `INSERT INTO property (actor_id, name, kind, value) VALUES ($1, 'count', 'value', $2)
       ON CONFLICT (actor_id, name) DO UPDATE SET value = excluded.value`,
      'a',
      String(count),
    ),
  )
  process.stdout.write(`${count}\n`)
}
