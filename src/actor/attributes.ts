/** Internal attributes of an actor, in buckets. The devtest endpoints show them, and tests of applications prepare them. */
import { type JsonText, known } from '../json/json.ts'
import type { Queries, Store } from '../store/store.ts'

export interface Attribute {
  readonly data: JsonText
  /** Unix milliseconds. */
  readonly timestamp: number
}

interface AttributeRow {
  readonly bucket: string
  readonly name: string
  readonly data: string
  readonly timestamp: number
}

/** A bucket whose content is stored elsewhere. */
export interface AttributeView {
  readonly bucket: string
  read(q: Queries, actorId: string): Promise<ReadonlyMap<string, Attribute>>
}

/** Converts buckets whose stored form differs from the shown form. */
export interface AttributeForm {
  readonly prefix: string
  shown(stored: ReadonlyMap<string, Attribute>): ReadonlyMap<string, Attribute>
}

export class Attributes {
  readonly #store: Store
  readonly #now: () => number
  readonly #views: readonly AttributeView[]
  readonly #forms: readonly AttributeForm[]

  constructor(
    store: Store,
    now: () => number,
    views: readonly AttributeView[] = [],
    forms: readonly AttributeForm[] = [],
  ) {
    this.#store = store
    this.#now = now
    this.#views = views
    this.#forms = forms
  }

  /** Maps each bucket to its attributes by name. */
  async all(actorId: string): Promise<ReadonlyMap<string, ReadonlyMap<string, Attribute>>> {
    const rows = await this.#store.read((q) =>
      q.all<AttributeRow>(
        'SELECT bucket, name, data, timestamp FROM attribute WHERE actor_id = $1 ORDER BY bucket, name',
        actorId,
      ),
    )
    const buckets = new Map<string, Map<string, Attribute>>()
    for (const row of rows) {
      const bucket = buckets.get(row.bucket) ?? new Map<string, Attribute>()
      buckets.set(row.bucket, bucket.set(row.name, toAttribute(row)))
    }
    for (const [bucket, stored] of buckets) {
      const form = this.#formOf(bucket)
      if (form !== undefined) buckets.set(bucket, new Map(form.shown(stored)))
    }
    for (const view of this.#views) {
      const shown = await this.#store.read((q) => view.read(q, actorId))
      if (shown.size > 0) buckets.set(view.bucket, new Map(shown))
    }
    return buckets
  }

  async bucket(actorId: string, bucket: string): Promise<ReadonlyMap<string, Attribute>> {
    const view = this.#views.find((found) => found.bucket === bucket)
    if (view !== undefined) return this.#store.read((q) => view.read(q, actorId))
    const rows = await this.#store.read((q) =>
      q.all<AttributeRow>(
        'SELECT bucket, name, data, timestamp FROM attribute WHERE actor_id = $1 AND bucket = $2 ORDER BY name',
        actorId,
        bucket,
      ),
    )
    const stored = new Map(rows.map((row) => [row.name, toAttribute(row)]))
    return this.#formOf(bucket)?.shown(stored) ?? stored
  }

  #formOf(bucket: string): AttributeForm | undefined {
    return this.#forms.find(({ prefix }) => bucket.startsWith(prefix))
  }

  async find(actorId: string, bucket: string, name: string): Promise<Attribute | null> {
    const view = this.#views.find((found) => found.bucket === bucket)
    if (view !== undefined) return (await this.#store.read((q) => view.read(q, actorId))).get(name) ?? null
    if (this.#formOf(bucket) !== undefined) return (await this.bucket(actorId, bucket)).get(name) ?? null
    const row = await this.#store.read((q) =>
      q.get<AttributeRow>(
        'SELECT bucket, name, data, timestamp FROM attribute WHERE actor_id = $1 AND bucket = $2 AND name = $3',
        actorId,
        bucket,
        name,
      ),
    )
    return row === undefined ? null : toAttribute(row)
  }

  async set(actorId: string, bucket: string, values: ReadonlyMap<string, JsonText>): Promise<void> {
    const now = this.#now()
    await this.#store.writeActor(actorId, (tx) =>
      tx.run(
        `INSERT INTO attribute (actor_id, bucket, name, data, timestamp)
         SELECT $1, $2, entry.name, entry.data, CAST($4 AS BIGINT) FROM rows($3, name TEXT, data TEXT) AS entry WHERE true
         ON CONFLICT (actor_id, bucket, name) DO UPDATE SET data = excluded.data, timestamp = excluded.timestamp`,
        actorId,
        bucket,
        JSON.stringify([...values]),
        now,
      ),
    )
  }

  async delete(actorId: string, bucket: string, name: string): Promise<void> {
    await this.#store.writeActor(actorId, (tx) =>
      tx.run('DELETE FROM attribute WHERE actor_id = $1 AND bucket = $2 AND name = $3', actorId, bucket, name),
    )
  }

  async deleteBucket(actorId: string, bucket: string): Promise<void> {
    await this.#store.writeActor(actorId, (tx) =>
      tx.run('DELETE FROM attribute WHERE actor_id = $1 AND bucket = $2', actorId, bucket),
    )
  }

  async deleteAll(actorId: string): Promise<void> {
    await this.#store.writeActor(actorId, (tx) => tx.run('DELETE FROM attribute WHERE actor_id = $1', actorId))
  }
}

function toAttribute(row: AttributeRow): Attribute {
  return { data: known(row.data), timestamp: row.timestamp }
}
