/** The kinds of actors that the application declared at the last start, and those that stored actors have. */
import { personKind } from '../app/kinds/person.ts'
import type { Registry } from '../app/registry.ts'
import { quoted } from '../errors.ts'
import type { Log } from '../observe/log.ts'
import type { Queries, Store } from '../store/store.ts'

const setting = 'kinds'

/** Whether the application declared the kind at its last start. A command of the operator has no other way to know. */
export async function isDeclaredKind(q: Pick<Queries, 'get'>, kind: string): Promise<boolean> {
  return kind === personKind || (await findDeclaredKinds(q)).includes(kind)
}

/** The sentence about an archive whose kind is not declared. */
export function undeclaredKind(kind: string): string {
  return `its actor is of the kind ${quoted(kind)}, which the application of this service does not declare`
}

/** Stores the declared kinds, and warns of actors of other kinds, which no request reaches. */
export async function startKinds(store: Store, registry: Registry, log: Log): Promise<void> {
  const declared = registry.all.map(({ kind }) => kind).filter((kind) => kind !== personKind)
  const known = await store.read(findDeclaredKinds)
  if (declared.toSorted().join(' ') !== known.toSorted().join(' '))
    await store.write((tx) =>
      tx.run(
        'INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
        setting,
        JSON.stringify(declared),
      ),
    )
  const counts = new Map<string, number>()
  for (const { kind, count } of await countKinds(store)) counts.set(kind, (counts.get(kind) ?? 0) + count)
  for (const [kind, actors] of counts)
    if (!declared.includes(kind))
      log.error(
        { kind, actors },
        'Cannot serve actors of a kind that the application does not declare: declare it again',
      )
}

async function findDeclaredKinds(q: Pick<Queries, 'get'>): Promise<readonly string[]> {
  const row = await q.get<{ value: string }>('SELECT value FROM setting WHERE name = $1', setting)
  return row === undefined ? [] : (JSON.parse(row.value) as string[])
}

/** The number of actors of each kind besides the person. Each server of a sharded database counts its own. */
function countKinds(store: Store): Promise<{ kind: string; count: number }[]> {
  return store.readAllServers(
    `/* kinds */ SELECT kind, COUNT(*) AS count FROM actor WHERE kind <> 'person' GROUP BY kind`,
  )
}
