/** Stores actors in the file argv[2] until the disk is full, and prints the results as JSON. */
import { ServiceError } from '../../src/errors.ts'
import { openStore } from '../../src/open-store.ts'

const store = await openStore({ url: `sqlite:${process.argv[2]}` })
const tell = (error: unknown): string =>
  error instanceof ServiceError ? `${error.status} ${error.code}` : String(error)
const stored: string[] = []
const refused: string[] = []
for (let count = 0; refused.length < 3 && count < 1_000; count++) {
  const id = String(count).padStart(4, '0')
  try {
    await store.write((tx) =>
      tx.run(
        'INSERT INTO actor (id, creator, passphrase, created_at) VALUES ($1, $2, $3, 1)',
        id,
        'owner',
        'x'.repeat(20_000),
      ),
    )
    stored.push(id)
  } catch (error) {
    refused.push(tell(error))
  }
}
const rows = await store.read((q) => q.all<{ id: string }>('SELECT id FROM actor ORDER BY id'))
process.stdout.write(JSON.stringify({ stored, refused, found: rows.map((row) => row.id) }))
