/** A feature of an application: bookmarks with a table, two routes, a page, a setting, expiry and records in archives. */
import { randomUUID } from 'node:crypto'
import { html, ServiceError } from 'troupe'
import { defineFeature, fieldKinds, optionKinds, type FeatureService, type FeatureStore } from 'troupe/feature'

const dayMs = 86_400_000

export interface Bookmark {
  readonly id: string
  readonly url: string
  readonly note: string
}

interface BookmarkRow {
  readonly id: string
  readonly url: string
  readonly note: string
}

class Bookmarks {
  readonly #store: FeatureStore
  readonly #notes: ReturnType<FeatureService['secrets']>
  readonly #now: () => number

  constructor({ store, secrets, now }: FeatureService) {
    this.#store = store
    this.#notes = secrets('bookmarks', 'note')
    this.#now = now
  }

  async list(actorId: string): Promise<Bookmark[]> {
    const rows = await this.#store.read((q) =>
      q.all<BookmarkRow>(
        'SELECT bookmark_id AS id, url, note FROM bookmarks WHERE actor_id = $1 ORDER BY created_at, bookmark_id',
        actorId,
      ),
    )
    return rows.map(({ id, url, note }) => ({ id, url, note: this.#notes.open(actorId, [id], note) }))
  }

  async add(actorId: string, { url, note }: Omit<Bookmark, 'id'>): Promise<string> {
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
      throw new ServiceError('invalid_value', 'Cannot add the bookmark: url must be an http or https URL')
    const id = randomUUID()
    await this.#store.writeActor(actorId, (tx) =>
      tx.run(
        'INSERT INTO bookmarks (actor_id, bookmark_id, url, note, created_at) VALUES ($1, $2, $3, $4, $5)',
        actorId,
        id,
        url,
        this.#notes.seal(actorId, [id], note),
        this.#now(),
      ),
    )
    return id
  }

  async remove(actorId: string, id: string): Promise<boolean> {
    const removed = await this.#store.writeActor(actorId, (tx) =>
      tx.run('DELETE FROM bookmarks WHERE actor_id = $1 AND bookmark_id = $2', actorId, id),
    )
    return removed > 0
  }
}

export const bookmarks = defineFeature({
  name: 'bookmarks',
  migrations: [
    {
      number: 1,
      name: 'initial',
      sql: `CREATE TABLE bookmarks (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  bookmark_id TEXT_KEY NOT NULL,
  url TEXT NOT NULL,
  -- Sealed.
  note TEXT NOT NULL,
  PRIMARY KEY (actor_id, bookmark_id)
) STRICT;
`,
    },
    {
      number: 2,
      name: 'age',
      sql: `ALTER TABLE bookmarks ADD COLUMN created_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX bookmarks_by_age ON bookmarks (created_at);
`,
    },
  ],
  tables: [
    {
      name: 'bookmarks',
      key: ['bookmark_id'],
      sealed: { note: 'notes of bookmarks' },
      records: {
        kind: 'bookmark',
        members: [
          { name: 'bookmark_id', type: 'text' },
          { name: 'url', type: 'text' },
          { name: 'note', type: 'secret' },
          { name: 'created_at', type: 'time' },
        ],
      },
      quota: { setting: 'maxBookmarks', unit: 'bookmarks', remedy: 'Delete bookmarks that are not needed.' },
    },
  ],
  options: {
    maxBookmarks: optionKinds.integer({
      env: 'TROUPE_BOOKMARKS_MAX',
      min: 0,
      max: 10_000,
      byDefault: 100,
      text: 'Maximum number of bookmarks of an actor; a further one returns 507.',
    }),
    bookmarkDays: optionKinds.integer({
      env: 'TROUPE_BOOKMARKS_DAYS',
      min: 1,
      max: 3650,
      byDefault: 3650,
      text: 'Bookmarks are deleted after this number of days.',
    }),
  },
  acts: [
    { spelling: 'POST /bookmarks', sentence: { en: 'added a bookmark', de: 'haben ein Lesezeichen hinzugefügt' } },
  ],
  checks: [
    {
      name: 'bookmarks',
      run: async ({ send }) => {
        const { status } = await send('POST', '/bookmarks', { url: 'file:///etc/passwd', note: '' })
        return status === 400
          ? { reason: 'A bookmark cannot name a file.' }
          : { reason: 'A bookmark may name a file.', fix: 'Start the newest version of the application.' }
      },
    },
  ],
  start: (service, { bookmarkDays }) => ({
    parts: new Bookmarks(service),
    purge: (tx, now) =>
      tx.run('/* bookmarks */ DELETE FROM bookmarks WHERE created_at < $1', now - bookmarkDays * dayMs),
  }),
  routes: (route, parts) => [
    route({
      id: 'listBookmarks',
      method: 'GET',
      path: '/bookmarks',
      summary: 'The bookmarks of the actor, oldest first',
      responses: { 200: 'The bookmarks' },
      handler: async ({ actor }) => ({ bookmarks: await parts().list(actor.id) }),
    }),
    route({
      id: 'addBookmark',
      method: 'POST',
      path: '/bookmarks',
      summary: 'Adds a bookmark',
      body: {
        url: fieldKinds.text('An http or https URL', { maxLength: 2048 }),
        note: fieldKinds.optional(fieldKinds.text('A note, which is stored encrypted'), ''),
      },
      responses: { 201: 'The id of the bookmark' },
      handler: async ({ actor, body, note }) => {
        const id = await parts().add(actor.id, await body())
        note('POST /bookmarks')
        return { id }
      },
    }),
  ],
  page: {
    path: '/bookmarks',
    label: { en: 'Bookmarks', de: 'Lesezeichen' },
    icon: 'link',
    after: '/properties',
    fields: ['id'],
    load: async (parts, actorId) => ({ bookmarks: await parts.list(actorId) }),
    view: ({ bookmarks: shown, csrf_token, language }) => html`
<h1>${language === 'de' ? 'Lesezeichen' : 'Bookmarks'}</h1>
<ul class="rows">${shown.map(
      ({ id, url, note }) => html`<li><p><a href="${url}" rel="noreferrer">${url}</a></p><p>${note}</p>
<form method="post"><input type="hidden" name="csrf_token" value="${csrf_token}"><button name="id" value="${id}">${language === 'de' ? 'Löschen' : 'Delete'}</button></form></li>`,
    )}</ul>`,
    submit: async (parts, form, { actor }) => {
      if (!(await parts.remove(actor.id, form.get('id') ?? '')))
        throw new ServiceError('conflict', 'Cannot delete the bookmark: it does not exist any longer')
      return 'deleted'
    },
  },
})
