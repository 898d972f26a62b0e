/** Answers to callers without rights: the same whether the thing that the path names exists or not. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Route } from '../../src/http/dispatch/route.ts'
import { hashSecret } from '../../src/secret/hash.ts'
import type { Param } from '../../src/store/store.ts'
import { TestCallers } from '../support/callers.ts'
import { FakePeers, stoppedTimers } from '../support/fake-peers.ts'
import { relateTo } from '../support/recording-peer.ts'
import { declareAll, furnish, isBelowActor, requestOf, routes, samplePeer } from '../support/routes.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'

type Headers = Record<string, string>

/** Why the answer of a route may depend on what exists. Everything else must not. */
const exceptions: Readonly<Record<string, string>> = {
  showInvitation: 'the code in the path is the credential',
  getMeta: 'the metadata of an actor is public',
  getMetaValue: 'the metadata of an actor is public',
}

/** Routes that tell a caller with an unknown token what no longer exists (docs/decisions/118). */
const forStaleSecrets = ['deleteTrust', 'deleteTrustNamed', 'postSubscriptionCallback', 'putSubscriptionCallback']

/** Gives the actor each thing that a sample path names. */
async function stock(service: TestService, actor: TestActor): Promise<void> {
  await furnish(actor)
  const { store } = await service.app.running()
  for (const peerId of ['none', 'oauth2_client:none'])
    await relateTo(service, actor, { baseuri: '', peerId, relationship: 'friend' })
  await store.write(async (tx) => {
    const insert = async (table: string, values: Readonly<Record<string, Param>>): Promise<void> => {
      const names = ['actor_id', ...Object.keys(values)]
      const all = [actor.id, ...Object.values(values)]
      const places = all.map((_value, n) => `$${n + 1}`).join(', ')
      await tx.run(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${places})`, ...all)
    }
    const scope = { target: 'properties', subtarget: '', resource: '', granularity: 'high', created_at: 1 }
    const subscription = { peer_id: samplePeer, subscription_id: 'none' }
    await insert('publisher_subscription', { ...subscription, ...scope, sequence: 1 })
    await insert('subscriber_subscription', { ...subscription, ...scope })
    await insert('diff', { ...subscription, sequence: 1, kind: 'diff', data: '{}', replaces: 0, created_at: 1 })
    const name = { event: 'none', names: '[]' }
    await insert('webhook', {
      webhook_id: 'none',
      url: 'https://receiver.example.com/hook',
      events: '[]',
      names: name.names,
      description: '',
      secrets: '',
      created_at: 1,
    })
    await insert('approval', {
      approval_id: 'none',
      peer_id: samplePeer,
      client_id: '',
      operation: 'paint',
      digest: '',
      arguments: '',
      state: 'waiting',
      created_at: 1,
      expires_at: 9_000_000_000_000,
    })
    await insert('invitation', {
      invitation_id: 'none',
      code_hash: hashSecret('another code'),
      relationship: 'friend',
      nickname: '',
      created_at: 1,
      ends_at: 9_000_000_000_000,
    })
    await insert('token_chain', {
      chain_id: 'none',
      kind: 'session',
      began_with: 'web',
      device: '',
      created_at: 1,
      authenticated_at: 1,
      last_used_at: 1,
      ends_at: 9_000_000_000_000,
    })
    await insert('file', {
      name: 'none.txt',
      object: '0'.repeat(32),
      size: 1,
      type: 'text/plain',
      hash: '0'.repeat(64),
      created_at: 1,
      updated_at: 1,
    })
    await insert('service_connection', { service: 'drive', tokens: '', connected_at: 1 })
    await insert('password_access', { creator: actor.creator, decision: 'pending', proven_at: 1 })
    await insert('attribute', { bucket: `remote:${samplePeer}`, name: 'none', data: '1', timestamp: 1 })
    await insert('history', {
      seq: 1000,
      at: Date.now(),
      name: 'none',
      kind: 'value',
      operation: 'set',
      existed: 0,
      characters: 0,
      version: 1,
      caller_kind: 'creator',
      caller: '',
      request: 'none',
      origin: '{"by":"creator"}',
    })
  })
}

forEachService((start) => {
  let service: TestService
  let full: TestActor
  let empty: TestActor
  const callers = new TestCallers()
  before(async () => {
    service = await start({
      ...callers.parts,
      peerClient: new FakePeers(),
      timers: stoppedTimers,
      peerProfileAttributes: [],
      rateLimits: { '*': null },
      declare: (app) => declareAll(app),
    })
    full = await service.createActor('same@example.com')
    empty = await service.createActor('same@example.com')
    await stock(service, full)
  })

  const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })
  const everyone: Readonly<Record<string, (actor: TestActor) => Headers>> = {
    'no credentials': () => ({}),
    'a browser': () => ({ accept: 'text/html' }),
    'an unknown token': () => bearer('token-that-does-not-exist'),
    'a wrong passphrase': () => ({
      authorization: `Basic ${Buffer.from('same@example.com:wrong').toString('base64')}`,
    }),
    'another peer': (actor) => bearer(callers.peer(actor.id)),
    'a partner': (actor) => bearer(callers.peer(actor.id, { relationship: 'partner' })),
    'another peer without approval': (actor) => bearer(callers.peer(actor.id, { approved: false })),
    'a client without rights': (actor) => bearer(callers.client(actor.id)),
  }

  /** The answer without the parts that are different for each request. */
  async function learned(route: Route, actor: TestActor, headers: Headers, body?: string): Promise<unknown> {
    const [path, init] = requestOf(route, actor.id, headers)
    const answer = await service.request(path, body === undefined ? init : { ...init, body })
    const shown = (text: string): string =>
      text
        .replaceAll(actor.id, 'ACTOR')
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+/g, 'TIME')
        .replaceAll(/[\w-]{20,}/g, 'RANDOM')
    const ofRequest = ['date', 'x-request-id', 'traceparent', 'content-length']
    const fields = [...answer.headers].filter(([name]) => !ofRequest.includes(name))
    return {
      status: answer.status,
      headers: fields.map(([name, value]) => [name, shown(value)]),
      body: shown(await answer.text()),
    }
  }

  describe('a caller without rights', () => {
    const compared = routes.filter((route) => isBelowActor(route) && exceptions[route.id] === undefined)
    for (const route of compared) {
      it(`learns from ${route.id} nothing about what exists (ACL-21)`, async () => {
        for (const [who, headers] of Object.entries(everyone)) {
          if (who === 'an unknown token' && forStaleSecrets.includes(route.id)) continue
          const found = await learned(route, full, headers(full))
          assert.deepEqual(found, await learned(route, empty, headers(empty)), who)
        }
      })
    }

    it('learns of a relationship or subscription only by an unknown token that it is gone (ACL-21)', async () => {
      const status = async (route: Route, actor: TestActor): Promise<number> =>
        (await service.request(...requestOf(route, actor.id, bearer('the-secret-of-an-ended-relationship')))).status
      for (const route of routes.filter(({ id }) => forStaleSecrets.includes(id)))
        assert.deepEqual([await status(route, full), await status(route, empty)], [403, 404], route.id)
    })

    it('learns nothing from statements of moves, whatever they claim (ACL-21)', async () => {
      const [route] = routes.filter(({ id }) => id === 'postMovedCallback')
      assert.ok(route !== undefined)
      const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
      const jwt = (header: unknown, claims: unknown): string => `${part(header)}.${part(claims)}.${part('signature')}`
      const now = Math.floor(Date.now() / 1000)
      const header = { alg: 'EdDSA', typ: 'actor-moved+jwt' }
      const addresses = [
        `https://peer.example.com/${samplePeer}`,
        `https://new.example.com/${samplePeer}`,
        'https://new.example.com/another',
        'not an address',
        '',
        `http://127.0.0.1/${samplePeer}`,
        `https://new.example.com/${samplePeer}/`,
      ]
      const statements: unknown[] = ['', 'x', 'a.b.c', 1, null, [], {}]
      for (const iss of addresses)
        for (const secret of ['s'.repeat(40), '', undefined])
          for (const sub of [samplePeer, 'another'])
            statements.push(
              jwt(header, {
                iss,
                sub,
                secret,
                approved: true,
                moved_at: 1,
                stated_at: now * 1000,
                iat: now,
                exp: now + 100,
              }),
            )
      for (const statement of statements) {
        const body = JSON.stringify({ statement })
        const found = await learned(route, full, { 'content-type': 'application/json' }, body)
        assert.deepEqual(found, await learned(route, empty, { 'content-type': 'application/json' }, body), body)
      }
    })
  })
})
