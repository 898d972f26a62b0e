/** Compares reads and memory with 1,000 and with 1,000,000 actors in the database file. */
import { parseKeyRing } from '../src/secret/key-ring.ts'
import { actorPassphrase, bindingOf } from '../src/secret/sealed-columns.ts'
import { randomId } from '../src/secret/random.ts'
import { seal } from '../src/secret/sealed.ts'
import { openStore } from '../src/open-store.ts'
import { type BenchActor, requestText, value } from './client.ts'
import { compare, type Slices } from './compare.ts'
import { type Loader, startServer } from './process.ts'
import { type Line, megabytes, micros, rate } from './report.ts'
import type { Subject } from './subject.ts'

/** Number of requested actors, spread evenly among all actors. */
const asked = 1000

export async function measureScale(
  few: Subject,
  many: Subject,
  actors: number,
  loader: Loader,
  slices: Slices,
): Promise<Line[]> {
  const [fewActors, manyActors] = [await fill(few, asked), await fill(many, actors)]
  const servers = [await startServer('troupe', few), await startServer('troupe', many)]
  try {
    const requests = [fewActors, manyActors].map((set) =>
      set.map((actor) => requestText(actor, 'GET', '/properties/p')),
    )
    const [small, large] = await compare(loader, servers, (which) => requests[which] ?? [], slices)
    if (small === undefined || large === undefined) return []
    const count = actors.toLocaleString('en')
    const cost = large.cpu / small.cpu
    const memory = large.rss / small.rss
    return [
      {
        store: 'SQLite',
        what: `GET with ${count} actors in the file`,
        measured: `${rate(large.rate)}, ${micros(large.cpu)} CPU`,
        bound: `${rate(small.rate)}, ${micros(small.cpu)} CPU with 1,000`,
        ratio: cost,
        aim: '≤ 1.2',
        met: cost <= 1.2,
      },
      {
        store: 'SQLite',
        what: `memory with ${count} actors in the file`,
        measured: megabytes(large.rss),
        bound: `${megabytes(small.rss)} with 1,000`,
        ratio: memory,
        aim: '≤ 1.2',
        met: memory <= 1.2,
      },
    ]
  } finally {
    for (const server of servers) await server.stop()
  }
}

async function fill(subject: Subject, actors: number): Promise<BenchActor[]> {
  const ring = parseKeyRing(subject.keys)
  const store = await openStore({ url: subject.database, synchronous: 'NORMAL' })
  const made: BenchActor[] = []
  const every = Math.max(1, Math.floor(actors / asked))
  for (let from = 0; from < actors; from += 10_000) {
    const rows: [string, string][] = []
    for (let at = from; at < Math.min(actors, from + 10_000); at += 1) {
      const id = randomId()
      // Every passphrase opens, because the service checks a sample of them when it starts.
      rows.push([id, seal(ring, 'open sesame', bindingOf(actorPassphrase, id))])
      if (at % every === 0)
        made.push({ id, authorization: `Basic ${Buffer.from('creator@example.com:open sesame').toString('base64')}` })
    }
    await store.write(async (tx) => {
      await tx.run(
        `INSERT INTO actor (id, creator, passphrase, trustee_root, created_at)
         SELECT made.id, 'creator@example.com', made.passphrase, NULL, 0 FROM rows($1, id TEXT, passphrase TEXT) AS made`,
        JSON.stringify(rows),
      )
      await tx.run(
        `INSERT INTO property (actor_id, name, kind, value) SELECT made.id, 'p', 'value', $2 FROM rows($1, id TEXT) AS made`,
        JSON.stringify(rows.map(([id]) => [id])),
        value,
      )
    })
  }
  await store.close()
  return made.slice(0, asked)
}
