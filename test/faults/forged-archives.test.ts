/** Forged archives: each member of each record with each wrong shape, and kinds with the names of Object.prototype. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { account, recordKindsWith } from '../../src/archive/record-kinds.ts'
import { builtInTables } from '../../src/features/features.ts'
import type { RecordKind } from '../../src/table/record-kind.ts'
import { rowOf } from '../../src/archive/record-rows.ts'
import { ServiceError } from '../../src/errors.ts'
import { members, normalize } from '../../src/json/json.ts'
import { isPeerId } from '../../src/permission/reserved-ids.ts'
import type { KeyRing } from '../../src/secret/key-ring.ts'
import { archiveOf, restore } from '../support/archives.ts'
import { seeded } from '../support/random.ts'
import { isBelowActor, routes, samplePeer, samples } from '../support/routes.ts'
import { basic, forEachService, sqliteService, type TestService } from '../support/service.ts'
import { asBrowser } from '../support/sessions.ts'

const at = '2026-01-02T03:04:05.000Z'
const prototypeNames = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'isPrototypeOf'] as const

const header = (actor: string): object => ({
  kind: 'archive',
  version: 1,
  actor,
  creator: `${actor}@example.com`,
  created_at: at,
  secrets: true,
})

const secretOf = (peerId: string): string => `secret-of-${peerId}-0123456789abcdef0123456789`

const relationship = (peerId: string): Readonly<Record<string, unknown>> => ({
  kind: 'relationship',
  peer_id: peerId,
  baseuri: `https://peer.example.com/${peerId}`,
  type: 'urn:actingweb:example.com:peer',
  relationship: 'friend',
  secret: secretOf(peerId),
  verification_token: 'token',
  description: '',
  nickname: '',
  approved: true,
  approved_until: null,
  peer_approved: true,
  verified: true,
  established_via: 'trust',
  facts: {},
  created_at: at,
  last_accessed: null,
  last_connected_via: '',
  request: '{"id":"r1","relationship":"friend","until":1}',
})

const subscription = {
  target: 'properties',
  subtarget: '',
  resource: '',
  granularity: 'high',
  sequence: 3,
  created_at: at,
}

const webhookSecrets = '{"secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}'

/** A valid record of each kind. */
const valid: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  account: {
    identifier: 'someone@example.com',
    verified: true,
    subject: null,
    fields: { email: 'someone@example.com' },
  },
  passkey: {
    passkey_id: 'cGFzc2tleQ',
    public_key: 'a2V5',
    counter: 1,
    transports: ['internal'],
    synced: false,
    name: 'A key',
    created_at: at,
    last_used_at: null,
  },
  attribute: { bucket: 'private', name: 'token', data: { a: 1 }, timestamp: at },
  alarm: { alarm: ['wake', 'k'], at: '2099-01-01T00:00:00.000Z', setting: 's1', data: 1, hops: 0 },
  change: {
    id: 1,
    at,
    name: 'color',
    property_kind: 'value',
    operation: 'set',
    existed: true,
    content: '"red"',
    characters: 5,
    version: 1,
    checksum: null,
    caller_kind: 'peer',
    caller: samplePeer,
    request_id: 'q1',
    origin: '{"by":"peer","name":"sample-peer"}',
  },
  activity: {
    at,
    id: 'a1',
    caller_kind: 'peer',
    caller: samplePeer,
    caller_name: 'Ben',
    through: 'http',
    method: 'GET',
    path: '/properties/color',
    decision: 'allowed',
    reason: 'a rule',
    status: 200,
    request_id: 'q1',
    times: 1,
    device: '',
  },
  relationship: relationship('p'),
  app: {
    peer_id: 'app',
    relationship: 'friend',
    description: '',
    nickname: '',
    approved: true,
    approved_until: null,
    established_via: 'oauth2_client',
    facts: {},
    created_at: at,
    last_accessed: null,
  },
  rights: {
    peer_id: samplePeer,
    rules: {
      properties: {
        patterns: ['*'],
        operations: ['read'],
        grants: [{ pattern: 'a', operations: ['write'], until: 1 }],
      },
    },
    created_by: 'creator',
    notes: '',
    updated_at: at,
  },
  expiry: { peer_id: samplePeer, due_at: '2099-01-01T00:00:00.000Z' },
  companion: { name: 'helper', peer_id: 'c', baseuri: 'https://peer.example.com/c', type: 'urn:x', passphrase: 'x' },
  suspension: { target: 'properties', subtarget: 'color' },
  subscription_of_peer: {
    peer_id: samplePeer,
    subscription_id: 's1',
    ...subscription,
    granularity: 'none',
    state: 'stopped',
  },
  subscription_to_peer: { peer_id: samplePeer, subscription_id: 's1', ...subscription },
  diff: {
    peer_id: samplePeer,
    subscription_id: 's1',
    sequence: 1,
    diff_kind: 'diff',
    data: { color: 'red' },
    replaces: false,
    created_at: at,
    cleared_at: null,
    hops: 0,
    deletions: null,
  },
  missed_deletion: { peer_id: samplePeer, subscription_id: 's1', about: 'name b', data: '{"b":""}', is_shown: true },
  delivered: { peer_id: samplePeer, subscription_id: 's1', committed: 1 },
  doubtful_copy: { peer_id: samplePeer, subscription_id: 's1', repair_at: at, repairs: 1, failing_since: at },
  pending_callback: {
    peer_id: samplePeer,
    subscription_id: 's1',
    sequence: 5,
    body: '{"data":{"a":1},"replaces":false,"granularity":"high"}',
    received_at: at,
  },
  missing_data: { peer_id: samplePeer, subscription_id: 's1', resync_pending: true },
  webhook: {
    webhook_id: 'w1',
    url: 'https://receiver.example.com/hook',
    events: ['list_changed'],
    names: [],
    description: '',
    secrets: webhookSecrets,
    created_at: at,
  },
  waiting_event: {
    queue: 'webhook',
    queue_id: 'w1',
    number: 1,
    id: 'e1',
    type: 'property_changed',
    data: { name: 'color' },
    origin: { by: 'creator' },
    hops: 0,
    created_at: at,
  },
  notice: {
    peer_id: samplePeer,
    position: 1,
    id: 'n1',
    notice: 'approval',
    method: 'POST',
    url: 'https://peer.example.com/x',
    baseuri: 'https://peer.example.com',
    body: null,
    request_id: '',
  },
  invitation: {
    invitation_id: 'i1',
    code_hash: 'h',
    relationship: 'friend',
    nickname: '',
    role: null,
    created_at: at,
    ends_at: at,
  },
  member: { peer_id: samplePeer, role: 'captain', since: at, given_by: 'application' },
  mail_choice: { declined: 'application', declined_at: at },
  service_connection: {
    service: 'music',
    tokens: '{"accessToken":"a","refreshToken":null,"expiresAt":null,"scope":""}',
    connected_at: at,
  },
}

/** Records that every import reads, each in a valid archive. */
const content: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>> = {
  archive: [{ ...header('forged') }],
  property: [{ ...header('forged') }, { kind: 'property', name: 'p', value: 1, version: 1 }],
  list: [
    { ...header('forged') },
    {
      kind: 'list',
      name: 'l',
      id: 'l1',
      description: '',
      explanation: '',
      created_at: at,
      updated_at: at,
      next_item: 2,
      revision: 1,
      length: 1,
    },
    { kind: 'item', number: 1, value: 'a' },
  ],
  file: [
    { ...header('forged') },
    {
      kind: 'file',
      name: 'hello.txt',
      size: 5,
      type: 'text/plain',
      sha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
      created_at: at,
      updated_at: at,
    },
    { kind: 'bytes', data: 'aGVsbG8=' },
  ],
}

const forged: readonly unknown[] = [
  null,
  '',
  'x',
  ...prototypeNames,
  '\u0000',
  '\ud800',
  '%',
  '/%zz',
  'http://',
  'javascript:alert(1)',
  -1,
  0,
  1.5,
  1e20,
  8_640_000_000_000_001,
  9_007_199_254_740_990,
  9_007_199_254_740_991,
  true,
  'yes',
  [],
  ['x', 1],
  ['__proto__', 'constructor'],
  {},
  { constructor: {}, toString: 1 },
  { properties: 1 },
  { properties: { patterns: 'x' } },
  { properties: { grants: [1] } },
  { properties: { grants: [{ pattern: 'color', operations: ['read'], until: 9_007_199_254_740_991 }] } },
  '{}',
  '[]',
  'null',
  '1',
  '{"by":"other"}',
  '{"id":"r1","relationship":"friend","until":9007199254740991}',
  '{"id":"r1","relationship":"friend","until":1,"closedAt":9007199254740991}',
  '{"secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw","old":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw","oldUntil":9007199254740991}',
  '{"accessToken":"a","refreshToken":null,"expiresAt":9007199254740991,"scope":""}',
  '{"by":1}',
  '{"list":"l","steps":[["insert",1,"x",[]]]}',
  '{"list":1,"steps":[]}',
  '{"list":"l","steps":[["constructor"]]}',
  '275760-09-13T00:00:00.000Z',
  '+275760-09-13T00:00:00.000Z',
  '-271821-04-20T00:00:00.000Z',
  '0000-00-00',
]

interface Forgery {
  readonly what: string
  readonly record: Readonly<Record<string, unknown>>
}

/** The record with each member replaced by each forged value, or missing. */
function forgeriesOf(kind: string): Forgery[] {
  const record: Readonly<Record<string, unknown>> = { kind, ...valid[kind] }
  const names = Object.keys(record).filter((name) => name !== 'kind')
  return names.flatMap((name) => [
    {
      what: `${kind} without ${name}`,
      record: Object.fromEntries(Object.entries(record).filter(([key]) => key !== name)),
    },
    ...forged.map((value) => ({
      what: `${kind} with ${name} ${JSON.stringify(value)}`,
      record: { ...record, [name]: value },
    })),
  ])
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const all: readonly RecordKind[] = [account, ...recordKindsWith(builtInTables)]

const linesOf = (records: readonly object[]): string =>
  [...records, { kind: 'end', records: records.length }].map((record) => `${JSON.stringify(record)}\n`).join('')

/** The forged records that an import reads, each with another key. @throws AssertionError for a failure other than a refusal */
function readable(kind: RecordKind, actorId: string, keyRing: KeyRing): Forgery[] {
  const found: Forgery[] = []
  const keys = new Set<string>()
  for (const [number, { what, record }] of forgeriesOf(kind.kind).entries()) {
    const whole = { ...record, ...keyFor(kind, record, number) }
    try {
      const row = rowOf(kind, actorId, members(normalize(JSON.stringify(whole))) ?? new Map(), keyRing)
      const key = JSON.stringify(kind.key.map((column) => row[column]))
      if (kind.key.length > 0 && keys.has(key)) continue
      keys.add(key)
      found.push({ what, record: whole })
    } catch (error) {
      assert.ok(error instanceof ServiceError, `${what}: ${String(error)}`)
      assert.equal(error.status, 400, what)
    }
  }
  return found
}

/** Members that tell the record apart from the others, unless they are forged. */
function keyFor(kind: RecordKind, record: Readonly<Record<string, unknown>>, number: number): object {
  const isValid = (name: string): boolean => JSON.stringify(record[name]) === JSON.stringify(valid[kind.kind]?.[name])
  const last = kind.members.filter(({ column }) => kind.key.includes(column)).at(-1)
  const peer = `${kind.kind}-${number}`
  return {
    ...(last?.type === 'text' && last.name !== 'peer_id' && isValid(last.name) ? { [last.name]: `k${number}` } : {}),
    ...(last?.type === 'integer' && isValid(last.name) ? { [last.name]: number + 10 } : {}),
    ...(kind.kind === 'alarm' && isValid('alarm') ? { alarm: ['wake', `k${number}`] } : {}),
    ...(last?.name === 'peer_id' && isValid('peer_id') ? { peer_id: peer } : {}),
    ...(kind.kind === 'relationship' && isValid('secret') ? { secret: secretOf(peer) } : {}),
    ...(kind.kind === 'account' && isValid('identifier') ? { identifier: `owner${number}@example.com` } : {}),
  }
}

/** The quota of an actor. */
const maxWebhooks = 20

const startSqlite = sqliteService()

describe('a record of an archive', () => {
  for (const kind of all) {
    it(`of the kind ${kind.kind} is read or refused with each wrong member, and never fails (SEC-10)`, async () => {
      const service = await startSqlite()
      const { keyRing } = await service.app.running()
      const right = { kind: kind.kind, ...valid[kind.kind] }
      rowOf(kind, 'ada', members(normalize(JSON.stringify(right))) ?? new Map(), keyRing)
      readable(kind, 'ada', keyRing)
    })
  }

  for (const [kind, records] of Object.entries(content)) {
    it(`of the kind ${kind} is refused with each wrong member, or makes no request fail (SEC-10)`, async () => {
      const service = await startSqlite({ logLevel: 'error' })
      const at_ = records.findIndex((record) => record['kind'] === kind)
      const { kind: _kind, ...right } = records[at_] ?? {}
      for (const [name, value] of Object.keys(right).flatMap((key) => forged.map((wrong) => [key, wrong] as const))) {
        const id = name === 'actor' && typeof value === 'string' ? value : 'forged'
        const changed = records.with(at_, { ...records[at_], [name]: value })
        const what = `${kind} with ${name} ${JSON.stringify(value)}`
        try {
          const { actorId, passphrase } = await restore(service, linesOf(changed))
          const creator = name === 'creator' && typeof value === 'string' ? value : 'forged@example.com'
          const headers = { authorization: basic(creator, passphrase), accept: 'application/json' }
          for (const path of ['/properties', '/properties/l', '/properties/l/metadata', '/files', '/www', '/export']) {
            const answer = await service.request(`/${actorId}${path}`, { headers })
            assert.ok(answer.status < 500, `${what}, ${path}: ${answer.status} ${await answer.text()}`)
          }
        } catch (error) {
          assert.ok(error instanceof ServiceError && error.status < 500, `${what}: ${String(error)}`)
        }
        const { parts } = await service.app.running()
        await parts.actors.delete(id)
        await parts.removedLists.deleteRowsOf(id)
      }
    })
  }

  it('with steps, a value or an origin that cannot be read back is refused (SEC-10)', async () => {
    const service = await startSqlite()
    const { keyRing } = await service.app.running()
    const kind = recordKindsWith(builtInTables).find((one) => one.kind === 'change')
    assert.ok(kind !== undefined)
    for (const forgery of [
      { property_kind: 'list', operation: 'add', content: '{}' },
      { property_kind: 'list', operation: 'add', content: '{"list":"l","steps":[["remove",1]]}' },
      { property_kind: 'list', operation: 'add', content: '"red"' },
      { content: 'red' },
      { content: '"red" ' },
      { checksum: 7 },
      { origin: 'x' },
      { origin: '{"by":"__proto__"}' },
      { origin: '{"by":"peer","name":{}}' },
      { property_kind: 'constructor' },
      { operation: '__proto__' },
    ]) {
      const record = { kind: 'change', ...valid['change'], ...forgery }
      assert.throws(
        () => rowOf(kind, 'ada', members(normalize(JSON.stringify(record))) ?? new Map(), keyRing),
        { code: 'invalid_value' },
        JSON.stringify(forgery),
      )
    }
  })

  it('with a callback that is not in stored form is refused, because its reader does not parse it again (SEC-10)', async () => {
    const service = await startSqlite()
    const { keyRing } = await service.app.running()
    const kind = recordKindsWith(builtInTables).find((one) => one.kind === 'pending_callback')
    assert.ok(kind !== undefined)
    const read = (body: string): unknown =>
      rowOf(
        kind,
        'ada',
        members(normalize(JSON.stringify({ ...valid['pending_callback'], body }))) ?? new Map(),
        keyRing,
      )
    const random = seeded(3)
    for (let round = 0; round < 300; round += 1) {
      const data = random.pick([{ l: [{}] }, { l: [[], {}] }, { a: 'b' }, { l: ['a', 'b'] }])
      const body = JSON.stringify({ data, replaces: false, granularity: 'high' })
      read(body)
      const places = [...body.matchAll(/[[\]{},:]/g)].map(({ index }) => index)
      const at_ = places[random.below(places.length)] ?? 0
      const spaced = body.slice(0, at_) + random.pick([' ', '\n', '\t ']) + body.slice(at_)
      assert.throws(() => read(spaced), { code: 'invalid_value' }, spaced)
    }
    for (const body of ['{"data":{"a":1,"a":[ {} ]}}', '{"data":{"a":"\\u0041"}}', '{"data":{}} ', '{"data":{}'])
      assert.throws(() => read(body), { code: 'invalid_value' }, body)
  })
})

forEachService((start) => {
  /** Everything that an import reads, in one archive. */
  function forgedArchive(
    actorId: string,
    keyRing: KeyRing,
  ): { readonly archive: string; readonly peers: readonly string[] } {
    const found = new Map(all.map((kind) => [kind.kind, readable(kind, actorId, keyRing).map(({ record }) => record)]))
    const own = found.get('relationship') ?? []
    const known = new Set(own.map((record) => String(record['peer_id'])))
    const named = [...found].flatMap(([kind, records]) =>
      kind === 'relationship' || kind === 'app' ? [] : records.map((record) => textOf(record['peer_id'] ?? samplePeer)),
    )
    const others = [...new Set([samplePeer, ...named])].filter((peer) => isPeerId(peer) && !known.has(peer))
    const records = [
      header(actorId),
      ...others.map(relationship),
      ...own,
      ...[...found].flatMap(([kind, of]) =>
        kind === 'relationship' || kind === 'account'
          ? []
          : of.filter((record) => isKnown(record)).slice(0, kind === 'webhook' ? maxWebhooks : of.length),
      ),
    ]
    function isKnown({ kind, peer_id: peer }: Readonly<Record<string, unknown>>): boolean {
      return kind === 'app' || peer === undefined || known.has(textOf(peer)) || others.includes(textOf(peer))
    }
    return { archive: linesOf(records), peers: [...others, ...known] }
  }

  async function noneFails(
    service: TestService,
    paths: readonly string[],
    headers: Record<string, string>,
  ): Promise<void> {
    for (const path of paths) {
      const answer = await service.request(path, { headers })
      const text = await answer.text()
      assert.ok(answer.status < 500, `${path}: ${answer.status} ${text.slice(0, 300)}`)
    }
  }

  describe('an archive with forged records', () => {
    it('comes in, and makes no request of its owner or of a peer fail, also after changes (SEC-10)', async () => {
      const service = await start({ logLevel: 'error' })
      const { keyRing } = await service.app.running()
      const { archive, peers } = forgedArchive('forged', keyRing)
      assert.ok(peers.length > 100)
      const { passphrase, restored } = await restore(service, archive)
      assert.ok((restored['change'] ?? 0) > 50 && (restored['rights'] ?? 0) > 10, JSON.stringify(restored))
      await service.settled()
      const asked = { authorization: basic('forged@example.com', passphrase) }
      const paths = pathsOf('forged', [samplePeer, ...peers.slice(-8)])
      assert.ok(paths.length > 80)
      await noneFails(service, paths, { ...asked, accept: 'application/json' })
      await noneFails(service, paths, { ...asked, ...asBrowser })
      for (const peer of peers.filter((id) => id.startsWith('rights-')))
        await noneFails(
          service,
          ['/properties', '/properties/color', `/permissions/${peer}`].map((path) => `/forged${path}`),
          { authorization: `Bearer ${secretOf(peer)}` },
        )
      await restore(service, (await archiveOf(service, 'forged')).replaceAll('forged', 'again'))
      for (const [method, path, body] of [
        ['PUT', '/properties/color', 'red'],
        ['PUT', '/properties/color', 'blue'],
        ['DELETE', '/properties/color', undefined],
        ['POST', '/properties', { list_of_mine: { _type: 'list' } }],
      ] as const) {
        const answer = await service.request(`/forged${path}`, {
          method,
          headers: { ...asked, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
        assert.ok(answer.status < 500, `${method} ${path}: ${answer.status} ${await answer.text()}`)
      }
      await service.settled()
      await noneFails(service, ['/forged/export', '/forged/subscriptions', '/forged/history'], asked)
    })

    it('comes in with each account that is read, and its owner sees it (SEC-10)', async () => {
      const service = await start({ logLevel: 'error' })
      const { keyRing } = await service.app.running()
      for (const [number, { record }] of readable(account, 'ada', keyRing).entries()) {
        const id = `owner-${number}`
        const { passphrase } = await restore(service, linesOf([header(id), record]))
        const asked = { authorization: basic(`${id}@example.com`, passphrase), ...asBrowser }
        await noneFails(service, [`/${id}/www`, `/${id}/www/settings`], asked)
      }
    })

    it('counts kinds with the names of Object.prototype, and a hundred of all others (SEC-10)', async () => {
      const service = await start()
      const kinds = [...prototypeNames, ...Array.from({ length: 200 }, (_, n) => `kind ${n}`)]
      const unknown = [...kinds, ...prototypeNames].map((kind) => ({ kind }))
      const { leftOut } = await restore(service, linesOf([header('ada'), ...unknown]))
      assert.deepEqual(
        prototypeNames.map((name) => Object.getOwnPropertyDescriptor(leftOut, name)?.value as unknown),
        prototypeNames.map(() => 2),
      )
      assert.equal(Object.keys(leftOut).length, 101)
      assert.equal(leftOut['further kinds'], 106)
      const owner = await service.createActor()
      const begun = await owner.request('POST', '/import', linesOf([header('ada'), ...unknown]))
      assert.equal(begun.status, 202, await begun.text())
      await service.settled()
      const shown = await owner.request('GET', '/import')
      assert.equal(shown.status, 200)
      assert.match(await shown.text(), /"left_out":\{"__proto__":2,"constructor":2,"toString":2,/)
      const page = await owner.request('GET', '/www/import', undefined, asBrowser)
      assert.equal(page.status, 200)
      assert.match(await page.text(), /\b212\b/)
    })
  })

  /** The paths of the GET requests below the actor that end. */
  function pathsOf(actorId: string, peers: readonly string[]): string[] {
    return routes
      .filter((route) => route.method === 'GET' && isBelowActor(route) && !route.path.endsWith('/live'))
      .flatMap(({ id }) => {
        const path = samples[id]?.path.replace(':actor', actorId) ?? ''
        return path.includes(samplePeer)
          ? peers.map((peer) => path.replaceAll(samplePeer, encodeURIComponent(peer)))
          : [path]
      })
  }
})
