/**
 * Checks the invariants of a database after any failure of the service. The checks read the tables directly, without the
 * code that writes them.
 */
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { placements } from './placements.ts'
import { citusServers } from './citus.ts'
import { isTurn, withoutUse } from './store-dump.ts'
import { shardedVariable } from './stores.ts'

export interface Expectations {
  /** The indexed properties. Default: oauthId, email and externalUserId. */
  readonly indexed?: readonly string[]
  /** False when several actors had the same indexed value at some time. The lookup then contains only the first of them. */
  readonly valuesAreUnique?: boolean
  /** Whether the counts for quotas are upper bounds. Default: when the tests run as on a sharded database. */
  readonly hasBounds?: boolean
  /** Opens the file of a SQLite database. Default: with a connection of its own. */
  readonly openFile?: (path: string) => DatabaseSync
}

/** Returns a sentence for each violation, with the id of the invariant. */
export async function violationsIn(url: string, expectations: Expectations = {}): Promise<string[]> {
  const work = async (database: Database): Promise<string[]> => [
    ...(await engineFaults(database)),
    ...(await strangers(database)),
    ...(await lookupFaults(database, expectations)),
    ...(await creatorFaults(database)),
    ...(await listFaults(database)),
    ...(await countFaults(database, expectations)),
  ]
  return withDatabase(url, work, expectations.openFile)
}

/** Checks creators whose request for an actor got no response: each has at most one actor, and that actor has no data. */
export async function halfMadeActors(url: string, creators: readonly string[]): Promise<string[]> {
  return withDatabase(url, async (database) => {
    const asked = new Set(creators)
    const actors = await database.all<{ id: string; creator: string }>('SELECT id, creator FROM actor')
    const made = Map.groupBy(
      actors.filter(({ creator }) => asked.has(creator)),
      ({ creator }) => creator,
    )
    const ids = new Set([...made.values()].flat().map(({ id }) => id))
    const found = [...made].flatMap(([creator, { length }]) =>
      length === 1 ? [] : [`I2: ${creator} requested one actor and has ${length}`],
    )
    for (const { name, columns } of await database.tables()) {
      if (!columns.includes('actor_id') || name === 'creator') continue
      const rows = await database.all<{ actor_id: string }>(`SELECT actor_id FROM "${name}"`)
      if (rows.some(({ actor_id }) => ids.has(actor_id)))
        found.push(`I2: ${name} has rows of an actor whose creation got no response`)
    }
    return found
  })
}

/** Dumps all rows in a fixed order, so that equal databases have equal strings. */
export async function dumpOf(url: string): Promise<string> {
  return withDatabase(url, async (database) => {
    const lines: string[] = []
    for (const { name } of await database.tables()) {
      const rows = await database.all<object>(`SELECT * FROM "${name}"`)
      lines.push(
        `${name}:`,
        ...rows
          .map((row) => JSON.stringify(row, withoutUse))
          .filter((row) => !isTurn(name, row))
          .sort(),
      )
    }
    return lines.join('\n')
  })
}

interface Table {
  readonly name: string
  readonly columns: readonly string[]
}

interface Database {
  readonly isSqlite: boolean
  all<R extends object>(sql: string): Promise<R[]>
  tables(): Promise<readonly Table[]>
}

async function withDatabase<T>(
  url: string,
  work: (database: Database) => Promise<T>,
  openFile = (path: string): DatabaseSync => new DatabaseSync(path, { readOnly: true, timeout: 5_000 }),
): Promise<T> {
  if (url.startsWith('sqlite:')) {
    const sqlite = openFile(url.slice('sqlite:'.length))
    try {
      return await work({
        isSqlite: true,
        all: async <R extends object>(sql: string) => sqlite.prepare(sql).all() as R[],
        tables: async () => {
          const columns = sqlite
            .prepare(
              `SELECT t.name AS "table", c.name AS "column" FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
               WHERE t.type = 'table' AND t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name`,
            )
            .all() as unknown as Column[]
          return tablesOf(columns)
        },
      })
    } finally {
      sqlite.close()
    }
  }
  const client = new pg.Client({ connectionString: url, options: '-c search_path=troupe' })
  await client.connect()
  const all = async <R extends object>(sql: string): Promise<R[]> => (await client.query<R>(sql)).rows
  if (citusServers().length > 0) await copyTables(client)
  try {
    return await work({
      isSqlite: false,
      all,
      tables: async () =>
        tablesOf(
          await all<Column>(
            `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
             WHERE table_schema = 'troupe' ORDER BY table_name, ordinal_position`,
          ),
        ),
    })
  } finally {
    await client.end()
  }
}

/** Copies the tables of a cluster into this session, because Citus refuses most joins of tables with different keys. */
async function copyTables(client: pg.Client): Promise<void> {
  for (const table of Object.keys(placements))
    await client.query(`CREATE TEMPORARY TABLE ${table} AS SELECT * FROM troupe.${table}`)
}

interface Column {
  readonly table: string
  readonly column: string
}

function tablesOf(columns: readonly Column[]): Table[] {
  return [...Map.groupBy(columns, ({ table }) => table)].map(([name, rows]) => ({
    name,
    columns: rows.map(({ column }) => column),
  }))
}

async function engineFaults(database: Database): Promise<string[]> {
  if (!database.isSqlite) return []
  const integrity = await database.all<{ integrity_check: string }>('PRAGMA integrity_check')
  const orphans = await database.all<{ table: string; parent: string }>('PRAGMA foreign_key_check')
  return [
    ...integrity.map((row) => row.integrity_check).filter((said) => said !== 'ok'),
    ...orphans.map(({ table, parent }) => `a row of ${table} references a missing row of ${parent}`),
  ]
}

/** Finds rows of actors and of lists that do not exist. */
async function strangers(database: Database): Promise<string[]> {
  const found: string[] = []
  for (const { name, columns } of await database.tables()) {
    // These tables name deleted lists and actors whose rows are still to be deleted, and actors that left or will come.
    if (['removed_list', 'departure', 'arrival', 'former_actor'].includes(name)) continue
    // Archives of announced actors: those that are kept, and those that are written or deleted later.
    const isArchive = `actor_id LIKE '~arrival~%' AND (due_at IS NOT NULL OR object IN (SELECT object FROM arrival))`
    const isExpected = name === 'file_object' ? isArchive : 'false'
    const isLeft = columns.includes('list') ? stillToBeDeleted(name) : isExpected
    if (columns.includes('actor_id')) {
      const rows = await database.all<{ actor_id: string }>(
        `SELECT DISTINCT actor_id FROM "${name}" AS part
         WHERE actor_id NOT IN (SELECT id FROM actor) AND NOT (${isLeft})`,
      )
      found.push(...rows.map((row) => `I8: ${name} has rows of actor ${row.actor_id}, which does not exist`))
    }
    if (columns.includes('actor_id') && columns.includes('list')) {
      const rows = await database.all<{ actor_id: string; list: string }>(
        `SELECT DISTINCT actor_id, list FROM "${name}" AS part WHERE NOT EXISTS (SELECT 1 FROM property
         WHERE property.actor_id = part.actor_id AND property.name = part.list AND property.kind = 'list')
         AND NOT (${isLeft})`,
      )
      found.push(...rows.map((row) => `I8: ${name} has rows of list ${row.actor_id}/${row.list}, which does not exist`))
    }
  }
  return found
}

async function lookupFaults(database: Database, expectations: Expectations): Promise<string[]> {
  const indexed = new Set(expectations.indexed ?? ['oauthId', 'email', 'externalUserId'])
  const entries = await database.all<{ name: string; value: string; actor_id: string }>(
    'SELECT name, value, actor_id FROM property_lookup',
  )
  const properties = await database.all<{ actor_id: string; name: string; value: string }>(
    `SELECT actor_id, name, value FROM property WHERE kind = 'value'`,
  )
  const held = new Map<string, string>()
  for (const { actor_id, name, value } of properties) {
    const text = indexed.has(name) ? indexText(value) : null
    if (text !== null) held.set(JSON.stringify([actor_id, name]), text)
  }
  const found: string[] = []
  for (const { name, value, actor_id } of entries) {
    const key = JSON.stringify([actor_id, name])
    const holds = held.get(key)
    if (holds === value) held.delete(key)
    else found.push(`I8: the lookup maps ${name}=${value} to actor ${actor_id}, which has ${holds ?? 'no such value'}`)
  }
  if (expectations.valuesAreUnique !== false) {
    for (const [key, text] of held) found.push(`I2: the lookup does not contain ${key}=${text}`)
  }
  return found
}

/** Returns the lookup string of a value, or null. Only strings and numbers have one. */
function indexText(json: string): string | null {
  const value: unknown = JSON.parse(json)
  const text = typeof value === 'string' ? value : typeof value === 'number' ? json : ''
  return text === '' || text.includes('\0') || Buffer.byteLength(text) > 2048 ? null : text
}

/** Returns an SQL condition: the row `part` belongs to a removed list and waits for deletion. */
function stillToBeDeleted(table: string): string {
  const column = table === 'list_node' ? 'node' : 'item'
  return `EXISTS (SELECT 1 FROM removed_list AS removed WHERE removed.actor_id = part.actor_id
    AND removed.list = part.list AND part.${column} <= removed.last_${column})`
}

async function creatorFaults(database: Database): Promise<string[]> {
  const wrong = await database.all<{ name: string; actor_id: string }>(
    `SELECT name, actor_id FROM creator AS entry WHERE NOT EXISTS
     (SELECT 1 FROM actor WHERE actor.id = entry.actor_id AND actor.creator = entry.name)`,
  )
  const missing = await database.all<{ id: string; creator: string }>(
    `SELECT id, creator FROM actor WHERE NOT EXISTS
     (SELECT 1 FROM creator AS entry WHERE entry.actor_id = actor.id AND entry.name = actor.creator)`,
  )
  return [
    ...wrong.map(({ name, actor_id }) => `I8: creator ${name} finds actor ${actor_id}, which has another creator`),
    ...missing.map(({ id, creator }) => `I2: creator ${creator} does not find its actor ${id}`),
  ]
}

interface Head {
  readonly next_item: number
  readonly next_node: number
  readonly root: readonly number[]
}

/** Finds actors whose counts for quotas differ from their rows, or are below them on a sharded database. */
async function countFaults(database: Database, { hasBounds }: Expectations): Promise<string[]> {
  if (citusServers().length > 0) return []
  const mayExceed = hasBounds ?? process.env[shardedVariable] === 'yes'
  const rows = await database.all<Readonly<Record<string, number | string>>>(
    `SELECT id, used_bytes, used_names, used_items,
       (SELECT COUNT(*) FROM property WHERE actor_id = id) AS names,
       (SELECT COUNT(*) FROM list_item WHERE actor_id = id) + (SELECT COUNT(*) FROM attribute WHERE actor_id = id) AS items,
       (SELECT COALESCE(SUM(octet_length(name) + CASE kind WHEN 'list' THEN 0 ELSE octet_length(value) END), 0)
          FROM property WHERE actor_id = id)
         + (SELECT COALESCE(SUM(octet_length(value)), 0) FROM list_item WHERE actor_id = id)
         + (SELECT COALESCE(SUM(octet_length(name) + octet_length(data)), 0) FROM attribute WHERE actor_id = id) AS bytes
     FROM actor`,
  )
  return rows.flatMap((row) =>
    ['bytes', 'names', 'items']
      .filter((what) => {
        const [counted, rows] = [Number(row[`used_${what}`]), Number(row[what])]
        return mayExceed ? counted < rows : counted !== rows
      })
      .map((what) => `I11: actor ${row['id']} counts ${row[`used_${what}`]} ${what} and has ${row[what]}`),
  )
}

async function listFaults(database: Database): Promise<string[]> {
  const key = (row: { actor_id: string; list: string }): string => `${row.actor_id}/${row.list}`
  const heads = await database.all<{ actor_id: string; list: string; value: string }>(
    `SELECT actor_id, name AS list, value FROM property WHERE kind = 'list'`,
  )
  const nodes = Map.groupBy(
    await database.all<{ actor_id: string; list: string; node: number | string; entries: string }>(
      `SELECT actor_id, list, node, entries FROM list_node AS part WHERE NOT (${stillToBeDeleted('list_node')})`,
    ),
    key,
  )
  const items = Map.groupBy(
    await database.all<{ actor_id: string; list: string; item: number | string }>(
      `SELECT actor_id, list, item FROM list_item AS part WHERE NOT (${stillToBeDeleted('list_item')})`,
    ),
    key,
  )
  return heads.flatMap((row) => {
    const list = key(row)
    const stored = new Map((nodes.get(list) ?? []).map(({ node, entries }) => [Number(node), entries]))
    const numbers = (items.get(list) ?? []).map(({ item }) => Number(item))
    return faultsOfList(row.value, stored, new Set(numbers)).map((fault) => `I5: list ${list}: ${fault}`)
  })
}

function faultsOfList(headText: string, nodes: Map<number, string>, items: Set<number>): string[] {
  let head: Head
  try {
    head = JSON.parse(headText) as Head
  } catch {
    return ['its head cannot be read']
  }
  const found: string[] = []
  /** Returns the entries of a node, and reports a node that was taken before. */
  const take = (node: number): number[] => {
    const text = nodes.get(node)
    nodes.delete(node)
    if (text === undefined) found.push(`node ${node} is missing or occurs twice`)
    else if (node >= head.next_node) found.push(`node ${node} was never allocated`)
    return text === undefined ? [] : (JSON.parse(text) as number[])
  }
  for (const [mid, below] of branchesOf(head.root)) {
    let sum = 0
    for (const [leaf, count] of branchesOf(take(mid))) {
      const numbers = take(leaf)
      sum += numbers.length
      if (numbers.length !== count) found.push(`leaf ${leaf} holds ${numbers.length} items instead of ${count}`)
      for (const item of numbers) {
        if (!items.delete(item)) found.push(`item ${item} is missing or occurs twice`)
        if (item >= head.next_item) found.push(`item ${item} was never allocated`)
      }
    }
    if (sum !== below) found.push(`node ${mid} has ${sum} items below it instead of ${below}`)
  }
  for (const node of nodes.keys()) found.push(`node ${node} is not in the order`)
  for (const item of items) found.push(`item ${item} is not in the order`)
  return found
}

/** Splits a flat array into branches: pairs of a node and the number of items below it. */
function branchesOf(flat: readonly number[]): [node: number, count: number][] {
  return flat.flatMap((node, at) => (at % 2 === 0 ? [[node, flat[at + 1] ?? 0] as [number, number]] : []))
}
