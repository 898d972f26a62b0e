/** Stores increasing numbers from argv[3] in the property "count" of actor "a", and prints each number once it is stored. */
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
