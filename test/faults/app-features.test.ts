/** Features of applications: who reaches their routes and pages, with which sign-in, and forged records of their tables. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { html } from '../../src/index.ts'
import { defineFeature, optionKinds } from '../../src/feature.ts'
import { ServiceError } from '../../src/errors.ts'
import { restore } from '../support/archives.ts'
import { relate } from '../support/friends.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { basic, type StartOptions, startService, type TestService } from '../support/service.ts'
import { OwnersBrowser, signIn } from '../support/sessions.ts'
import { createTestDatabase } from '../support/stores.ts'

const minute = 60_000
const at = '2026-01-02T03:04:05.000Z'

const vault = defineFeature({
  name: 'vault',
  migrations: [
    {
      number: 1,
      name: 'initial',
      sql: `CREATE TABLE vault (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  vault_id TEXT_KEY NOT NULL,
  label TEXT NOT NULL,
  data TEXT NOT NULL,
  number BIGINT NOT NULL,
  shown BIGINT NOT NULL,
  kept_at BIGINT NOT NULL,
  secret TEXT NOT NULL,
  PRIMARY KEY (actor_id, vault_id)
) STRICT;
`,
    },
  ],
  tables: [
    {
      name: 'vault',
      key: ['vault_id'],
      sealed: { secret: 'secrets of the vault' },
      records: {
        kind: 'vault',
        members: [
          { name: 'vault_id', type: 'text' },
          { name: 'label', type: 'text' },
          { name: 'data', type: 'json' },
          { name: 'number', type: 'integer' },
          { name: 'shown', type: 'flag' },
          { name: 'kept_at', type: 'time' },
          { name: 'secret', type: 'secret' },
        ],
      },
      quota: { setting: 'maxVault', unit: 'secrets', remedy: 'Delete some.' },
    },
  ],
  options: {
    maxVault: optionKinds.integer({ env: 'TROUPE_VAULT_MAX', min: 0, max: 1000, byDefault: 1000, text: 'Secrets.' }),
  },
  start: ({ store, secrets }) => {
    const sealed = secrets('vault', 'secret')
    return {
      parts: {
        issued: 0,
        list: async (actorId: string) =>
          (
            await store.read((q) =>
              q.all<Record<string, string>>(
                'SELECT vault_id AS id, data, secret FROM vault WHERE actor_id = $1 ORDER BY 1',
                actorId,
              ),
            )
          ).map(({ id = '', data = '', secret = '' }) => ({
            id,
            data: JSON.parse(data === '' ? 'null' : data) as object,
            secret: sealed.open(actorId, [id], secret),
          })),
      },
    }
  },
  routes: (route, parts) => [
    route({
      id: 'listVault',
      method: 'GET',
      path: '/vault',
      summary: 'The secrets',
      responses: { 200: 'The secrets' },
      handler: async ({ actor }) => ({ secrets: await parts().list(actor.id) }),
    }),
    route({
      id: 'issueVault',
      method: 'POST',
      path: '/vault/:of/issue',
      summary: 'Issues a token',
      freshSignIn: 'all',
      showsSecret: true,
      responses: { 201: 'The token' },
      handler: async () => ({ token: `token-${(parts().issued += 1)}` }),
    }),
  ],
  page: {
    path: '/vault',
    label: { en: 'Vault' },
    icon: 'key',
    load: async (parts) => ({ issued: parts.issued }),
    view: ({ issued, csrf_token, fresh_href }) =>
      html`<h1>Vault</h1>${
        fresh_href === null
          ? html`<form method="post"><input type="hidden" name="csrf_token" value="${csrf_token}"><button>Issue ${issued}</button></form>`
          : html`<a href="${fresh_href}">Sign in again</a>`
      }`,
    freshSignIn: true,
    submit: async (parts) => {
      parts.issued += 1
      return 'saved'
    },
  },
})

const forged: readonly unknown[] = [
  null,
  '',
  '\0',
  '\ud800',
  '__proto__',
  -1,
  1.5,
  1e20,
  9_007_199_254_740_991,
  true,
  'yes',
  [],
  {},
  { constructor: {}, ['__proto__']: 1 },
  '2026-13-45',
  '+275760-09-13T00:00:00.001Z',
]

for (const store of ['sqlite', 'postgres'] as const) {
  const start = async (t: TestContext, options: StartOptions): Promise<TestService> => {
    const database = await createTestDatabase(store)
    t.after(() => database.remove())
    const service = await startService(database.url, { features: [vault], ...options })
    t.after(() => service.close())
    return service
  }

  describe(`a feature of an application on ${store}`, () => {
    it('serves the owner alone: no visitor, other owner, peer, program or key, whatever its rights (ACL-26)', async (t) => {
      const service = await start(t, { listen: true })
      const [ada, eve] = [await service.createActor('ada@example.com'), await service.createActor('eve@example.com')]
      const created = await ada.request('POST', '/keys', {
        name: 'all',
        grants: { properties: { patterns: ['*'], operations: ['read', 'write', 'delete'] } },
      })
      const { key } = (await created.json()) as { key: string }
      const admin = await relate(eve, [service, ada], 'friend')
      const app = await authorizeClient(service, ada, { relationship: 'admin' })
      const foreign = await OwnersBrowser.open(service, eve)
      const everything = { patterns: ['*'], operations: ['read', 'append', 'write', 'delete', 'subscribe'] }
      const rights = await ada.request('PUT', `/trust/friend/${eve.id}/permissions`, {
        properties: everything,
        methods: { allowed: ['*'] },
        actions: { allowed: ['*'] },
      })
      assert.ok(rights.ok, await rights.text())
      const requests = [
        ['GET', '/vault'],
        ['POST', '/vault/x/issue'],
        ['GET', '/www/vault'],
        ['POST', '/www/vault'],
      ] as const
      for (const [method, path] of requests)
        for (const [who, headers] of Object.entries({
          visitor: {},
          'other owner': { authorization: eve.authorization },
          'session of another owner': { cookie: `oauth_token=${foreign.token}`, 'sec-fetch-site': 'same-origin' },
          peer: { authorization: `Bearer ${admin.secret}` },
          program: { authorization: `Bearer ${app.token}` },
          key: { authorization: `Bearer ${key}` },
        })) {
          const answer = await service.request(`/${ada.id}${path}`, { method, headers: headers as never })
          assert.ok([302, 401, 403].includes(answer.status), `${who} ${method} ${path}: ${answer.status}`)
          assert.doesNotMatch(await answer.text(), /token-|<h1>Vault/, `${who} ${method} ${path}`)
        }
      const browser = await OwnersBrowser.open(service, ada)
      for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example.com' }]) {
        const answer = await browser.send('/vault', {}, headers)
        assert.equal(answer.status, 403)
      }
      assert.equal((await ada.request('POST', '/vault/x/issue')).status, 201)
      assert.match(await (await browser.get('/vault')).text(), /Issue 1/)
    })

    it('asks for a recent sign-in where it says so, and stores no response with a secret (ACL-26)', async (t) => {
      const clock = new ManualClock()
      const service = await start(t, { now: clock.now, timers: clock.timers })
      const actor = await service.createActor()
      const authorization = `Bearer ${await signIn(service, actor)}`
      const browser = await OwnersBrowser.open(service, actor)
      const issue = (more: Record<string, string> = {}): Promise<Response> =>
        service.request(`/${actor.id}/vault/x/issue`, { method: 'POST', headers: { authorization, ...more } })
      assert.equal((await issue()).status, 201)
      assert.equal((await issue({ 'idempotency-key': 'again' })).status, 400)
      assert.equal((await browser.send('/vault', {})).status, 302)
      clock.pass(5 * minute + 1)
      const late = await issue()
      assert.equal(late.status, 401)
      assert.equal(((await late.json()) as { error: string }).error, 'insufficient_user_authentication')
      assert.equal((await browser.send('/vault', {})).status, 401)
      const shown = await (await browser.get('/vault')).text()
      assert.match(shown, /fresh=1[^"]*">Sign in again/)
      // The program of the passphrase proves the owner with each request.
      assert.equal((await actor.request('POST', '/vault/x/issue')).status, 201)
      assert.equal((await service.request(`/${actor.id}/vault`, { headers: { authorization } })).status, 200)
    })

    it('reads or refuses each forged record of its tables, and no request fails (ACL-26, SEC-10)', async (t) => {
      const service = await start(t, { logLevel: 'error' })
      const right = {
        kind: 'vault',
        vault_id: 'v1',
        label: 'a',
        data: { a: 1 },
        number: 1,
        shown: true,
        kept_at: at,
        secret: 's',
      }
      const archiveWith = (actor: string, records: readonly object[]): string => {
        const header = {
          kind: 'archive',
          version: 1,
          actor,
          creator: `${actor}@example.com`,
          created_at: at,
          secrets: true,
        }
        const all = [header, ...records]
        return [...all, { kind: 'end', records: all.length }].map((record) => `${JSON.stringify(record)}\n`).join('')
      }
      const { actorId: victim } = await restore(service, archiveWith('victim', [right]))
      let made = 0
      for (const name of Object.keys(right).filter((key) => key !== 'kind'))
        for (const value of [...forged, undefined]) {
          const what = `${name} ${JSON.stringify(value)}`
          const record = { ...right, [name]: value, actor_id: victim, actor: victim }
          try {
            const { actorId, passphrase } = await restore(service, archiveWith(`forged${(made += 1)}`, [record]))
            const headers = { authorization: basic(`${actorId}@example.com`, passphrase) }
            for (const path of ['/vault', '/export', '/www/vault']) {
              const answer = await service.request(`/${actorId}${path}`, { headers })
              assert.ok(answer.status < 500, `${what} ${path}: ${answer.status} ${await answer.text()}`)
            }
          } catch (error) {
            assert.ok(error instanceof ServiceError && error.status < 500, `${what}: ${String(error)}`)
          }
        }
      const { store } = await service.app.running()
      const rows = await store.read((q) => q.all('SELECT vault_id FROM vault WHERE actor_id = $1', victim))
      assert.deepEqual(rows, [{ vault_id: 'v1' }])
    })
  })
}
