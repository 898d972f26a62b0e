import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import type { Ending } from '../support/program.ts'
import {
  assertRefused,
  createActor,
  type Created,
  free,
  key,
  place,
  placeForEachTest,
  start,
  unfit,
} from '../support/cli.ts'

placeForEachTest()

describe('troupe keys', () => {
  it('makes a new key each time, and prints nothing else', async () => {
    const made = await Promise.all([place.run(['keys', 'new']), place.run(['keys', 'new'])])
    for (const { code, stdout, stderr } of made) {
      assert.deepEqual([code, stderr], [0, ''])
      assert.match(stdout, /^k[0-9a-f]{12}:[A-Za-z0-9_-]{43}\n$/)
    }
    assert.notEqual(made[0].stdout, made[1].stdout)
  })

  it('re-encrypts every passphrase, so that the old key can be removed (SEC-03)', async () => {
    const old = (await place.run(['keys', 'new'])).stdout.trim()
    const young = (await place.run(['keys', 'new'])).stdout.trim()
    const serve = { BASE_URL: 'https://troupe.example.com', TROUPE_SECRET_KEYS: old }
    const before = await start(['serve', 'app.ts'], { ...serve, TROUPE_OPEN_CREATION: '1' })
    const { id, authorization } = await createActor(before.url)
    before.program.signal('SIGTERM')
    await before.program.ended

    const both = `${young},${old}`
    const during = await start(['serve', 'app.ts'], { ...serve, TROUPE_SECRET_KEYS: both })
    // The service runs during the rotation, because a rotation needs no pause.
    const rotated = await place.run(['keys', 'rotate'], { env: { TROUPE_SECRET_KEYS: both } })
    assert.deepEqual(rotated, {
      code: 0,
      signal: null,
      stdout: `1 secret is now encrypted with key ${young.split(':')[0]}; you can remove the keys after it.\n`,
      stderr: '',
    })
    assert.equal((await fetch(`${during.url}/${id}`, { headers: { authorization } })).status, 200)
    during.program.signal('SIGTERM')
    await during.program.ended

    const after = await start(['serve', 'app.ts'], { ...serve, TROUPE_SECRET_KEYS: young })
    assert.equal((await fetch(`${after.url}/${id}`, { headers: { authorization } })).status, 200)
  })

  it('refuses to rotate without a database in one sentence, and creates none (SEC-03)', async () => {
    const env = { TROUPE_SECRET_KEYS: key, DATABASE_URL: 'sqlite:elsewhere/troupe.db' }
    assertRefused(
      await place.run(['keys', 'rotate'], { env }),
      `The database file ${place.path('elsewhere/troupe.db')} does not exist yet; a start creates it.`,
    )
    assertRefused(
      await place.run(['keys', 'rotate']),
      `The database file ${place.path('data/troupe.db')} does not exist yet; a start creates it.`,
    )
    for (const folder of ['elsewhere', 'data']) assert.equal(existsSync(place.path(folder)), false)
  })

  it('refuses to rotate with the keys of another database in one sentence, and changes nothing (SEC-03)', async () => {
    const { program, url } = await start(['dev', 'app.ts'], { TROUPE_SECRET_KEYS: key })
    const { id, authorization } = await createActor(url)
    const other = (await place.run(['keys', 'new'])).stdout.trim()
    const ending = await place.run(['keys', 'rotate'], { env: { TROUPE_SECRET_KEYS: other } })
    assertRefused(ending, unfit)
    assert.equal((await fetch(`${url}/${id}`, { headers: { authorization } })).status, 200)
    program.signal('SIGTERM')
    await program.ended
  })
})

describe('keys of another database', () => {
  const production = { BASE_URL: 'https://troupe.example.com' }

  /** Creates a database with one actor, whose secrets the key `k1` encrypts. */
  async function written(env: Record<string, string> = { TROUPE_SECRET_KEYS: key }): Promise<Created> {
    const { program, url } = await start(['dev', 'app.ts'], env)
    const created = await createActor(url)
    program.signal('SIGTERM')
    await program.ended
    return created
  }

  const newKey = async (): Promise<string> => (await place.run(['keys', 'new'])).stdout.trim()

  it('are refused at the start and by the doctor, in one sentence, and change nothing (SEC-03)', async () => {
    const { id, authorization } = await written()
    const other = { ...production, TROUPE_SECRET_KEYS: await newKey() }
    const before = readFileSync(place.path('data/troupe.db'))
    assertRefused(await place.run(['serve', 'app.ts'], { env: { ...free, ...other } }), unfit)
    assertRefused(await place.run(['dev', 'app.ts'], { env: { ...free, ...other } }), unfit)
    // A key with other bytes under the same id.
    const namesake = { ...other, TROUPE_SECRET_KEYS: other.TROUPE_SECRET_KEYS.replace(/^\w+/, 'k1') }
    assertRefused(await place.run(['serve', 'app.ts'], { env: { ...free, ...namesake } }), unfit)
    for (const words of [['doctor'], ['doctor', 'deep']]) {
      const { code, stdout, stderr } = await place.run(words, { env: other })
      assert.deepEqual([code, stderr], [1, `${unfit}\n`])
      assert.doesNotMatch(stdout, /Everything/)
    }
    assert.deepEqual(readFileSync(place.path('data/troupe.db')), before)
    const several = { ...production, TROUPE_SECRET_KEYS: `${other.TROUPE_SECRET_KEYS},${key}` }
    const { url } = await start(['serve', 'app.ts'], several)
    assert.equal((await fetch(`${url}/${id}`, { headers: { authorization } })).status, 200)
    assert.equal((await place.run(['doctor', 'deep'], { env: several })).code, 0)
  })

  it('are refused in development with the name of the key file, when that file was replaced (SEC-03)', async () => {
    const { id, authorization } = await written({})
    const file = place.path('data/development.key')
    const kept = readFileSync(file)
    writeFileSync(file, await newKey())
    assertRefused(
      await place.run(['dev', 'app.ts'], { env: free }),
      `Cannot decrypt the secrets in the database: the key in ${file} did not encrypt them. Either restore the key that encrypted them, or use another database.`,
    )
    writeFileSync(file, kept)
    const { url } = await start(['dev', 'app.ts'])
    assert.equal((await fetch(`${url}/${id}`, { headers: { authorization } })).status, 200)
  })

  it('are accepted for an empty database (SEC-03)', async () => {
    const first = await start(['dev', 'app.ts'], { TROUPE_SECRET_KEYS: key })
    first.program.signal('SIGTERM')
    await first.program.ended
    const other = { ...production, TROUPE_SECRET_KEYS: await newKey() }
    assert.equal((await place.run(['doctor', 'deep'], { env: other })).code, 0)
    const { url } = await start(['serve', 'app.ts'], { ...other, TROUPE_OPEN_CREATION: '1' })
    await createActor(url)
    assert.equal((await fetch(`${url}/health/ready`)).status, 200)
  })

  it('are reported by `doctor deep` when they encrypt only some of the secrets (SEC-03)', async () => {
    const { id } = await written()
    const other = await newKey()
    const { program, url } = await start(['dev', 'app.ts'], { TROUPE_SECRET_KEYS: `${other},${key}` })
    await createActor(url)
    program.signal('SIGTERM')
    await program.ended
    const env = { ...production, TROUPE_SECRET_KEYS: other }
    assert.equal((await place.run(['doctor'], { env })).code, 0)
    const { code, stdout, stderr } = await place.run(['doctor', 'deep'], { env })
    assert.equal(code, 1)
    assert.match(
      stdout,
      new RegExp(
        `^secret {4}Cannot open the secret of \\["${id}","actor\\.passphrase"\\]: key "k1" is not in the key ring$`,
        'm',
      ),
    )
    assert.equal(
      stderr,
      'The database ./data/troupe.db has 1 secret that no configured key decrypts: add the key that encrypted them, or restore a backup.\n',
    )
    const rotated = await place.run(['keys', 'rotate'], { env })
    assertRefused(
      rotated,
      `Cannot open the secret of ["${id}","actor.passphrase"]: key "k1" is not in the key ring; every other secret is encrypted with key ${other.split(':')[0]} now.`,
    )
  })
})

describe('troupe redrive', () => {
  it('refuses to run without a database in one sentence, and creates none (OPS-09)', async () => {
    assertRefused(
      await place.run(['redrive']),
      `The database file ${place.path('data/troupe.db')} does not exist yet; a start creates it.`,
    )
    assert.equal(existsSync(place.path('data')), false)
  })
})

describe('troupe migrate-data', () => {
  const release = (schema: object, more: string): string => `import { troupe } from 'troupe'
const app = troupe({ type: 'urn:actingweb:example.com:plain', name: 'plain' })
const declared = { ${more} }
app.property('motto', { schema: ${JSON.stringify(schema)}, ...declared })
app.property('wish', { schema: ${JSON.stringify(schema)}, ...declared })
app.list('notes', { item: ${JSON.stringify(schema)}, ...declared })
export default app
`
  const first = release({ type: 'string' }, '')
  const second = release(
    { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
    "version: 2, migrate: (old) => { if (old === 'bad') throw new Error('not good'); return { text: old } }",
  )

  async function serveFirst(values: Readonly<Record<string, unknown>>): Promise<(path: string) => Promise<Response>> {
    place.write('first.ts', first)
    place.write('second.ts', second)
    const { url } = await start(['dev', 'first.ts'])
    const { id, authorization } = await createActor(url)
    const answer = await fetch(`${url}/${id}/properties`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(values),
    })
    assert.equal(answer.status, 201)
    for (const body of ['"a"', '"b"', '"c"'])
      await fetch(`${url}/${id}/properties/notes`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body,
      })
    return (path) => fetch(`${url}/${id}/properties/${path}`, { headers: { authorization } })
  }

  it('upgrades values and items while the older release serves, and plans it before', async () => {
    const get = await serveFirst({ motto: 'brief' })
    const run = (...args: string[]): Promise<Ending> => place.run(['migrate-data', 'second.ts', ...args])
    assert.deepEqual(await run('plan'), {
      code: 0,
      signal: null,
      stdout: 'troupe migrate-data upgrades 1 value and 3 items.\n',
      stderr: '',
    })
    assert.equal(await (await get('motto')).text(), 'brief')
    assert.equal((await run()).stdout, 'Upgraded 1 value and 3 items.\n')
    assert.equal((await run()).stdout, 'Upgraded 0 values and 0 items.\n')
    assert.equal((await run('plan')).stdout, 'troupe migrate-data upgrades 0 values and 0 items.\n')
    assert.deepEqual([(await get('motto')).status, (await get('notes/0')).status], [503, 503])
  })

  it('names what it cannot upgrade, and fails', async () => {
    await serveFirst({ motto: 'bad', wish: 'good' })
    const { code, stdout, stderr } = await place.run(['migrate-data', 'second.ts'])
    assert.match(
      stdout,
      /^failed {4}"motto" of actor \S+: Cannot upgrade "motto" from version 1 to version 2: not good\nUpgraded 1 value and 3 items\.\n$/,
    )
    assert.deepEqual([code, stderr], [1, 'Cannot upgrade 1 property: correct migrate and run it again.\n'])
  })

  it('refuses to run without a database or an application, and creates none', async () => {
    assertRefused(
      await place.run(['migrate-data', 'app.ts']),
      `The database file ${place.path('data/troupe.db')} does not exist yet; a start creates it.`,
    )
    assertRefused(
      await place.run(['migrate-data', 'missing.ts']),
      `Cannot load ${place.path('missing.ts')}: the file does not exist.`,
    )
    assert.equal(existsSync(place.path('data')), false)
  })
})

describe('troupe doctor', () => {
  it('checks the settings of troupe dev with TROUPE_MODE=development', async () => {
    const { program, url } = await start(['dev', 'app.ts'])
    await createActor(url)
    program.signal('SIGTERM')
    await program.ended
    const { code, stdout, stderr } = await place.run(['doctor'], { env: { TROUPE_MODE: 'development' } })
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^mode {6}development$/m)
    const { stdout: help } = await place.run(['doctor', '--help'])
    assert.match(help, /TROUPE_MODE=development troupe doctor/)
  })

  it('reports what a start would find, and never a secret', async () => {
    const { program, url } = await start(['dev', 'app.ts'], { TROUPE_SECRET_KEYS: key })
    await createActor(url)
    program.signal('SIGTERM')
    await program.ended
    const { code, stdout, stderr } = await place.run(['doctor'], {
      env: { TROUPE_SECRET_KEYS: key, BASE_URL: 'https://troupe.example.com' },
    })
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(
      stdout,
      /^troupe {4}\S+ on Node\.js \S+, SQLite \S+\nmode {6}production\naddress {3}https:\/\/troupe\.example\.com\nport {6}3000 of localhost\nmetrics {3}closed: TROUPE_METRICS_TOKEN opens them for Prometheus\nkeys {6}k1 \(the first one encrypts\)\ndatabase {2}sqlite, \.\/data\/troupe\.db: answers, 1 actor, a change waits \d+\.\d ms for the disk[^\n]*\nEverything that a start needs is present\.\n$/,
    )
    assert.ok(!stdout.includes(key.slice(3)))
  })

  const settings = { TROUPE_SECRET_KEYS: key, BASE_URL: 'https://troupe.example.com' }

  it('names a port on every address, with what others can do there', async () => {
    const lineOf = async (env: Record<string, string>): Promise<string | undefined> => {
      const { code, stdout } = await place.run(['doctor'], { env: { ...settings, ...env } })
      assert.equal(code, 0)
      return stdout.split('\n').find((line) => line.startsWith('port '))
    }
    const remedy =
      'Set HOST=localhost when the proxy runs on this machine. In a container, publish the port to the proxy alone.'
    assert.equal(
      await lineOf({ HOST: '0.0.0.0', PORT: '8080' }),
      `port      HOST is 0.0.0.0: every network of this machine reaches port 8080 without the proxy, unencrypted. ${remedy}`,
    )
    assert.equal(
      await lineOf({ HOST: '::', TROUPE_TRUSTED_PROXIES: '1' }),
      `port      HOST is ::: every network of this machine reaches port 3000 without the proxy, unencrypted, and can forge the address in X-Forwarded-For. ${remedy}`,
    )
    assert.equal(await lineOf({ HOST: '10.0.0.1' }), 'port      3000 of 10.0.0.1')
  })

  it('creates no database, and reports that a start would', async () => {
    const { code, stdout, stderr } = await place.run(['doctor'], { env: settings })
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(
      stdout,
      /^database {2}The database file \S+troupe\.db does not exist yet; a start creates it\.\nEverything/m,
    )
    assert.equal(existsSync(place.path('data')), false)
    const below = await place.run(['doctor'], { env: { ...settings, DATABASE_URL: 'sqlite:app.ts/troupe.db' } })
    assert.equal(below.code, 1)
    assert.equal(
      below.stderr,
      `Cannot create the database file ${place.path('app.ts/troupe.db')}: a part of the path is not a folder.\n`,
    )
  })

  it('reports a damaged database in one sentence, and fails', async () => {
    const { program, url } = await start(['dev', 'app.ts'], { TROUPE_SECRET_KEYS: key })
    await createActor(url)
    program.signal('SIGTERM')
    await program.ended
    const database = new DatabaseSync(place.path('data/troupe.db'))
    const page = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'deleted_actor_by_time'").get()
    const { page_size: bytes } = database.prepare('PRAGMA page_size').get() as { page_size: number }
    database.close()
    const file = readFileSync(place.path('data/troupe.db'))
    file.fill(0, (Number(page?.['rootpage']) - 1) * bytes, Number(page?.['rootpage']) * bytes)
    writeFileSync(place.path('data/troupe.db'), file)
    const { code, stdout, stderr } = await place.run(['doctor'], { env: settings })
    assert.equal(code, 1)
    assert.match(stderr, /^The database \.\/data\/troupe\.db is damaged: .+; restore a backup\.\n$/)
    assert.doesNotMatch(stdout, /Everything/)
  })

  it('names all missing settings at once, and fails (OPS-09)', async () => {
    const { code, stdout, stderr } = await place.run(['doctor'])
    assert.equal(code, 1)
    assert.doesNotMatch(stdout, /Everything/)
    assert.equal(
      stderr,
      'The settings have 2 problems:\n- TROUPE_SECRET_KEYS is required in production: run `troupe keys new` and keep its output safe.\n- BASE_URL is required in production: the public https address of the service.\n',
    )
  })
})
