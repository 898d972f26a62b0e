/** Deletions when the disk of an SQLite database is full. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { compactStore } from '../../src/open-store.ts'
import { BrittleDisk } from '../support/brittle-disk.ts'
import { violationsIn } from '../support/invariants.ts'
import { startService, type TestActor, type TestService } from '../support/service.ts'

const reserveBytes = 1_048_576
const pageBytes = 4096
const value = (letter: string): string => JSON.stringify(letter.repeat(20_000))

/** A service whose database is on a disk of a limited size. */
class SmallDisk {
  readonly path: string
  readonly log: string[] = []
  readonly #brittle = new BrittleDisk()
  #free = 100_000_000
  service!: TestService
  actor!: TestActor

  constructor(folder: string) {
    this.path = join(folder, 'troupe.db')
  }

  async start(folder: string): Promise<this> {
    const store = await this.#brittle.openStore(this.path, {
      log: (level, message) => this.log.push(`${level}: ${message.replaceAll(this.path, 'troupe.db')}`),
      reserve: { bytes: reserveBytes, retryMs: 0, freeBytes: () => this.#free },
    })
    this.service = await startService(`sqlite:${join(folder, 'unused.db')}`, {
      files: join(folder, 'files'),
      wrapStore: () => store,
    })
    this.actor = await this.service.createActor()
    return this
  }

  get hasReserve(): boolean {
    return existsSync(`${this.path}-reserve`)
  }

  pages(): number {
    const database = new DatabaseSync(this.path, { readOnly: true })
    try {
      return Number(database.prepare('PRAGMA page_count').get()?.['page_count'])
    } finally {
      database.close()
    }
  }

  /** Makes the disk as large as its content: the database and the reserve. */
  fill(): void {
    const pages = this.pages()
    this.#free = 0
    this.#brittle.maxPages = () => pages + (this.hasReserve ? 0 : reserveBytes / pageBytes)
  }

  addRoom(): void {
    this.#free = 100_000_000
    this.#brittle.maxPages = () => 1_000_000
  }

  async put(name: string, body: string): Promise<number> {
    return (await this.actor.request('PUT', `/properties/${name}`, body)).status
  }

  async used(): Promise<number> {
    const { store } = await this.service.app.running()
    const row = await store.read((q) =>
      q.get<{ bytes: number }>('SELECT used_bytes AS bytes FROM actor WHERE id = $1', this.actor.id),
    )
    return row?.bytes ?? 0
  }
}

async function begin(t: TestContext): Promise<SmallDisk> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-full-'))
  const disk = await new SmallDisk(folder).start(folder)
  t.after(async () => {
    await disk.service.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return disk
}

/** Stores values, a list, a file and history, and fills the disk. */
async function beginFull(t: TestContext): Promise<SmallDisk> {
  const disk = await begin(t)
  for (let n = 0; n < 10; n++) assert.equal(await disk.put(`v${n}`, value(String(n))), 204)
  assert.equal((await disk.actor.request('PUT', '/properties', { notes: { _type: 'list' } })).status, 204)
  for (let n = 0; n < 20; n++)
    assert.equal((await disk.actor.request('POST', '/properties/notes', value('i'))).status, 201)
  assert.equal((await disk.actor.request('PUT', '/files/letter.txt', 'content')).status, 201)

  disk.fill()
  assert.equal(await disk.put('more', value('m')), 503)
  assert.equal(disk.hasReserve, false)
  return disk
}

const deletions: Readonly<Record<string, readonly [method: string, path: string, body?: unknown]>> = {
  'a value': ['DELETE', '/properties/v1'],
  'an item': ['DELETE', '/properties/notes?index=0'],
  'a list': ['DELETE', '/properties/notes'],
  'all properties': ['DELETE', '/properties'],
  'a file': ['DELETE', '/files/letter.txt'],
  'the history': ['DELETE', '/history'],
  'the actor': ['DELETE', ''],
}

describe('a full disk of an SQLite database', () => {
  for (const [what, [method, path, body]] of Object.entries(deletions)) {
    it(`lets the owner delete ${what} (QUO-13)`, async (t) => {
      const disk = await beginFull(t)
      const before = await disk.used()
      const answer = await disk.actor.request(method, path, body)
      assert.equal(answer.status, 204, await answer.text())
      if (!['a file', 'the history'].includes(what)) assert.ok((await disk.used()) < before)
      const { parts } = await disk.service.app.running()
      parts.unusedObjects.wake()
      await parts.unusedObjects.settled()
      assert.deepEqual(await violationsIn(`sqlite:${disk.path}`), [])
    })
  }

  it('stores changes again in the place of what was deleted (QUO-13)', async (t) => {
    const disk = await beginFull(t)
    assert.equal(await disk.put('more', value('m')), 503)
    assert.equal((await disk.actor.request('DELETE', '/properties')).status, 204)
    assert.equal((await disk.actor.request('DELETE', '/history')).status, 204)
    assert.equal(await disk.used(), 0)
    const pages = disk.pages()
    for (let n = 0; n < 5; n++) assert.equal(await disk.put(`w${n}`, value('w')), 204)
    assert.equal(disk.pages(), pages)
    assert.equal((await disk.actor.request('DELETE', '/properties')).status, 204)
    assert.equal((await disk.actor.request('DELETE', '/history')).status, 204)
    const { before, after } = await compactStore({ url: `sqlite:${disk.path}`, isFull: false })
    assert.ok(after < before, `${before} and ${after}`)
  })

  it('keeps the reserve for deletions: other changes never make the database larger (QUO-13)', async (t) => {
    const disk = await beginFull(t)
    const pages = disk.pages()
    const changes: readonly [method: string, path: string, body: string][] = [
      ['PUT', '/properties/more', value('m')],
      ['PUT', '/properties/v1', JSON.stringify('x'.repeat(100_000))],
      ['POST', '/properties/notes', value('n')],
      ['PUT', '/properties', JSON.stringify({ one: 'x'.repeat(50_000), two: 2 })],
      ['PUT', '/properties', JSON.stringify({ v2: null, one: 'x'.repeat(50_000) })],
    ]
    for (let round = 0; round < 5; round++)
      for (const [method, path, body] of changes) {
        const { status } = await disk.actor.request(method, path, body)
        assert.ok(status === 503 || status < 500, `${method} ${path}: ${status}`)
        assert.ok(disk.pages() <= pages, `${method} ${path}`)
      }
    assert.equal((await disk.actor.request('DELETE', '/properties')).status, 204)
  })

  it('refuses the change that needs room, and stores the deletions of the same commit (QUO-13)', async (t) => {
    const disk = await begin(t)
    for (let n = 0; n < 10; n++) assert.equal(await disk.put(`v${n}`, value(String(n))), 204)
    const other = await disk.service.createActor('other@example.com')
    const third = await disk.service.createActor('third@example.com')
    assert.equal((await other.request('PUT', '/properties/own', value('o'))).status, 204)
    disk.fill()
    const answers = await Promise.all([
      disk.put('more', JSON.stringify('m'.repeat(200_000))),
      other.request('DELETE', '/properties/own').then(({ status }) => status),
      third.request('DELETE', '').then(({ status }) => status),
    ])
    assert.deepEqual(answers, [503, 204, 204])
    assert.deepEqual(await violationsIn(`sqlite:${disk.path}`), [])
  })

  it('gets its reserve back when there is room, and takes every change (QUO-13)', async (t) => {
    const disk = await beginFull(t)
    assert.equal((await disk.actor.request('DELETE', '/properties/v1')).status, 204)
    disk.addRoom()
    assert.equal(await disk.put('more', JSON.stringify('m'.repeat(200_000))), 204)
    assert.equal(disk.hasReserve, true)
    assert.deepEqual(disk.log, [
      'error: The disk of troupe.db is full: until there is room, only deletions make the database larger',
      'warn: The disk of troupe.db has room again',
    ])
    disk.fill()
    assert.equal(await disk.put('more', JSON.stringify('m'.repeat(900_000))), 503)
    assert.equal((await disk.actor.request('DELETE', '')).status, 204)
  })

  it('without room for the reserve at the start stores deletions only (QUO-13)', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-full-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const path = join(folder, 'troupe.db')
    // A folder in the place of the file cannot be written, as a full disk.
    mkdirSync(`${path}-reserve`)
    const log: string[] = []
    const store = await new BrittleDisk().openStore(path, {
      log: (level, message) => log.push(`${level}: ${message.replaceAll(path, 'troupe.db')}`),
      reserve: { bytes: reserveBytes },
    })
    t.after(() => store.close())
    const insert = (id: string, passphrase: string): Promise<number> =>
      store.write((tx) =>
        tx.run('INSERT INTO actor (id, creator, passphrase, created_at) VALUES ($1, $2, $3, 1)', id, 'c', passphrase),
      )
    assert.equal(await insert('a', 'short'), 1)
    await assert.rejects(insert('b', 'x'.repeat(100_000)), { code: 'store_unavailable' })
    assert.equal(await store.write((tx) => tx.run(`DELETE FROM actor WHERE id = 'a'`)), 1)
    assert.equal(
      log.at(-1),
      'error: The disk of troupe.db has no room for the reserve of 1048576 bytes: only deletions make the database larger',
    )
  })
})
