import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HostLabels } from '../../src/observe/host-labels.ts'
import type { App } from '../../src/troupe.ts'
import { documentedMetrics } from '../support/documented-metrics.ts'
import { EventStream } from '../support/event-stream.ts'
import { authorizeClient, listen } from '../support/mcp-client.ts'
import { requestTokens } from '../support/oauth-client.ts'
import { RecordingPeer, relateTo } from '../support/recording-peer.ts'
import { sqliteService, type TestService } from '../support/service.ts'
import { createFileFolder, faulty, type FaultyStore } from '../support/stores.ts'
import { signIn } from '../support/sessions.ts'
import { until } from '../support/until.ts'

const start = sqliteService()

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Returns every sample of one metric, parsed as Prometheus does. */
async function samples(service: TestService, name: string): Promise<Sample[]> {
  const text = await (await service.request('/metrics')).text()
  return [...text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'))].map(([, labels = '', value]) => ({
    labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', of = '']) => [key, of])),
    value: Number(value),
  }))
}

function declare(app: App): void {
  app.action('add_note', { mcp: true }, async () => 'done')
  app.action('fails', { mcp: true }, async () => {
    throw new Error('fails')
  })
}

describe('the metrics of AI clients', () => {
  it('count calls by declared tool and by outcome', async () => {
    const service = await start({ declare })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor)
    const stranger = await authorizeClient(service, actor, { relationship: 'no-such-type' })
    for (let round = 0; round < 3; round += 1) await client.modern('tools/call', { name: 'add_note' })
    await client.legacy('tools/call', { name: 'fails' })
    await stranger.legacy('tools/call', { name: 'add_note' })
    await client.legacy('tools/list')
    const counted = await samples(service, 'troupe_mcp_call_duration_seconds_count')
    assert.deepEqual(
      counted.map(({ labels, value }) => [labels['method'], labels['tool'], labels['outcome'], value]),
      [
        ['tools/call', 'add_note', 'ok', 3],
        ['tools/call', 'fails', 'tool_error', 1],
        ['tools/call', 'add_note', 'not_permitted', 1],
        ['tools/list', '', 'ok', 1],
      ],
    )
  })

  it('have no label with a value that a client invents', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    for (let round = 0; round < 20; round += 1) {
      await client.legacy('tools/call', { name: `made-up-${round}` })
      await client.legacy(`made/up/${round}`)
      await client.legacy('prompts/get', { name: `made-up-${round}` })
      await client.legacy('resources/read', { uri: `actingweb://properties/made-up-${round}` })
    }
    const counted = await samples(service, 'troupe_mcp_call_duration_seconds_count')
    assert.deepEqual(
      counted.map(({ labels, value }) => [labels['method'], labels['tool'], labels['outcome'], value]),
      [
        ['tools/call', '', 'unknown_tool', 20],
        ['other', '', 'unknown_method', 20],
        ['prompts/get', '', 'not_permitted', 20],
        ['resources/read', '', 'unknown_resource', 20],
      ],
    )
  })

  it('count the sessions that begin, by revision', async () => {
    const service = await start()
    const client = await authorizeClient(service, await service.createActor())
    const begin = (protocolVersion: string): Promise<unknown> =>
      client.legacy('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } })
    await begin('2025-11-25')
    await begin('2025-11-25')
    await begin('2025-03-26')
    // This revision has no sessions.
    await begin('2024-11-05')
    assert.deepEqual(await samples(service, 'troupe_mcp_sessions_begun_total'), [
      { labels: { revision: '2025-11-25' }, value: 2 },
      { labels: { revision: '2025-03-26' }, value: 1 },
    ])
  })
})

describe('the metrics of operations', () => {
  it('count calls of methods and actions by declared name and outcome; those of AI clients have their own', async () => {
    const service = await start({
      declare(app) {
        declare(app)
        app.method('read_note', async () => 'done')
      },
    })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor)
    const outsider = await service.createActor()
    for (let round = 0; round < 2; round += 1)
      assert.equal((await actor.request('POST', '/actions/add_note', {})).status, 200)
    await client.modern('tools/call', { name: 'add_note' })
    assert.equal((await actor.request('POST', '/actions/fails', {})).status, 500)
    assert.equal((await actor.request('POST', '/methods/read_note', {})).status, 200)
    const rpc = { jsonrpc: '2.0', id: 1, method: 'read_note', params: {} }
    assert.equal((await actor.request('POST', '/methods', rpc)).status, 200)
    const basic = `Basic ${Buffer.from(`${outsider.creator}:${outsider.passphrase}`).toString('base64')}`
    const refused = await service.request(`/${actor.id}/actions/add_note`, {
      method: 'POST',
      headers: { authorization: basic, 'content-type': 'application/json' },
      body: '{}',
    })
    assert.equal(refused.status, 403)
    for (let round = 0; round < 20; round += 1) await actor.request('POST', `/actions/made-up-${round}`, {})
    const counted = await samples(service, 'troupe_operation_duration_seconds_count')
    assert.deepEqual(
      counted.map(({ labels, value }) => [labels['kind'], labels['name'], labels['outcome'], value]),
      [
        ['actions', 'add_note', 'ok', 2],
        ['actions', 'fails', 'failed', 1],
        ['methods', 'read_note', 'ok', 2],
        ['actions', '', 'unhandled', 20],
      ],
    )
  })
})

describe('the metrics of the database', () => {
  it('have its size, what its disk has left, and the changes that wait', async () => {
    const service = await start()
    const [bytes] = await samples(service, 'troupe_database_bytes')
    const [free] = await samples(service, 'troupe_database_free_bytes')
    assert.ok(bytes !== undefined && bytes.value > 100_000, String(bytes?.value))
    assert.ok(free !== undefined && free.value > 1_000_000, String(free?.value))
    assert.deepEqual(await samples(service, 'troupe_database_waiting'), [{ labels: {}, value: 0 }])
  })

  it('have no value while the database does not answer', async () => {
    let store: FaultyStore | undefined
    const service = await start({ wrapStore: (inner) => (store = faulty(inner)) })
    assert.deepEqual(await samples(service, 'troupe_delivery_backlog'), [{ labels: {}, value: 0 }])
    store?.plan({ matching: /publisher_subscription/, times: Number.POSITIVE_INFINITY })
    assert.deepEqual(await samples(service, 'troupe_delivery_backlog'), [])
    store?.plan()
    assert.deepEqual(await samples(service, 'troupe_delivery_backlog'), [{ labels: {}, value: 0 }])
  })

  it('have the time of the newest complete backup, 0 while no backup succeeds, and none while backups are off', async (t) => {
    const place = createFileFolder()
    t.after(place.remove)
    const service = await start()
    assert.deepEqual(await samples(service, 'troupe_backup_timestamp_seconds'), [])
    const saved = await start({
      backups: `${place.url.replace('sqlite:', '')}-backups`,
      now: () => Date.UTC(2026, 2, 1, 4, 30),
    })
    await until(async () => (await samples(saved, 'troupe_backup_timestamp_seconds'))[0]?.value !== 0)
    assert.deepEqual(await samples(saved, 'troupe_backup_timestamp_seconds'), [
      { labels: {}, value: Date.UTC(2026, 2, 1, 4, 30) / 1000 },
    ])
    // A folder cannot be in a file.
    const failing = await start({ backups: `${import.meta.filename}/backups` })
    assert.deepEqual(await samples(failing, 'troupe_backup_timestamp_seconds'), [{ labels: {}, value: 0 }])
  })
})

describe('the names of metrics', () => {
  it('follow the conventions of Prometheus: counters alone end in _total, and units are base units', async () => {
    const service = await start()
    const text = await (await service.request('/metrics')).text()
    const all = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => ({ name, type }))
    assert.ok(all.length > 40)
    assert.deepEqual(
      all.filter(({ name, type }) => name.endsWith('_total') !== (type === 'counter')),
      [],
    )
    assert.deepEqual(
      all.filter(({ name, type }) => type === 'histogram' && !name.endsWith('_seconds')),
      [],
    )
    // Dashboards of other people expect these names.
    for (const name of [
      'process_resident_memory_bytes',
      'process_cpu_seconds_total',
      'nodejs_eventloop_lag_p99_seconds',
    ])
      assert.ok(
        all.some((each) => each.name === name),
        name,
      )
    assert.deepEqual(
      all.filter(({ name }) => !/^(troupe|process|nodejs)_/.test(name) || /^troupe_(process|nodejs)_/.test(name)),
      [],
    )
  })
})

describe('the metrics of streams', () => {
  it('count a stream from its first event until its receiver is gone', async () => {
    const service = await start()
    const client = await authorizeClient(service, await service.createActor())
    const open = async (): Promise<number> => {
      const [sample] = await samples(service, 'troupe_streams_open')
      assert.deepEqual(sample?.labels ?? { route: 'mcpMessage' }, { route: 'mcpMessage' })
      return sample?.value ?? 0
    }
    assert.equal(await open(), 0)
    const answer = await listen(client, { toolsListChanged: true })
    const stream = new EventStream(answer)
    await stream.next()
    assert.equal(await open(), 1)
    await stream.close()
    await until(async () => (await open()) === 0)
  })
})

describe('the metrics of tokens and limits', () => {
  it('count issued pairs of tokens by kind and grant, and no refused request', async () => {
    const service = await start({ devtest: true })
    const actor = await service.createActor()
    await signIn(service, actor)
    const begun = await service.request('/oauth/spa/token', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'passphrase', actor_id: actor.id, passphrase: actor.passphrase }),
    })
    const { refresh_token: refreshToken } = (await begun.json()) as { refresh_token: string }
    const refresh = (token: string): Promise<Response> =>
      service.request('/oauth/spa/token', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ grant_type: 'refresh_token', refresh_token: token }),
      })
    assert.equal((await refresh(refreshToken)).status, 200)
    assert.equal((await refresh('spa_rt_made-up')).status, 401)
    const client = await service.request('/oauth/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'program', grant_types: ['client_credentials'] }),
    })
    const { client_id: id, client_secret: secret } = (await client.json()) as {
      client_id: string
      client_secret: string
    }
    const form = { grant_type: 'client_credentials', client_id: id }
    assert.equal((await requestTokens(service, { ...form, client_secret: secret })).status, 200)
    assert.equal((await requestTokens(service, { ...form, client_secret: `${secret}x` })).status, 401)
    assert.deepEqual(await samples(service, 'troupe_tokens_issued_total'), [
      { labels: { kind: 'session', grant: 'passphrase' }, value: 2 },
      { labels: { kind: 'session', grant: 'refresh_token' }, value: 1 },
      { labels: { kind: 'client', grant: 'client_credentials' }, value: 1 },
    ])
  })

  it('count the refusals of rate limits by limiter, on every route', async () => {
    const service = await start({
      rateLimits: {
        '*': null,
        'create_actor/total': { count: 1, seconds: 600 },
        'passphrase/target': { count: 1, seconds: 600 },
      },
    })
    const actor = await service.createActor()
    assert.deepEqual(await samples(service, 'troupe_rate_limit_refusals_total'), [])
    const create = (): Promise<Response> =>
      service.request('/', { method: 'POST', body: '{"creator":"a@example.com"}' })
    assert.deepEqual([(await create()).status, (await create()).status], [429, 429])
    const guess = (): Promise<Response> =>
      service.request(`/${actor.id}/properties`, {
        headers: { authorization: `Basic ${Buffer.from(`${actor.creator}:wrong`).toString('base64')}` },
      })
    assert.deepEqual([(await guess()).status, (await guess()).status], [403, 429])
    assert.deepEqual(await samples(service, 'troupe_rate_limit_refusals_total'), [
      { labels: { limit: 'create_actor/total' }, value: 2 },
      { labels: { limit: 'passphrase/target' }, value: 1 },
    ])
  })
})

describe('the metrics of peers', () => {
  it('count requests by outcome, and by host after the host accepted the secret of a relationship', async () => {
    const remote = await new RecordingPeer().start()
    // The retry of the last one is never answered, and so never counted.
    remote.replies = [404, 204, 503, 'hang']
    try {
      const service = await start({ allowPrivatePeers: true })
      const actor = await service.createActor()
      const peer = await relateTo(service, actor, { baseuri: `${remote.url}/remote` })
      await peer.subscribe({ granularity: 'high' })
      for (let count = 1; count <= 3; count += 1) {
        await actor.request('PUT', '/properties/color', String(count))
        await remote.has(count)
        await until(async () => {
          const all = await samples(service, 'troupe_peer_calls_total')
          return all.reduce((sum, { value }) => sum + value, 0) === count
        })
      }
      const host = new URL(remote.url).host
      assert.deepEqual(await samples(service, 'troupe_peer_calls_total'), [
        { labels: { host: 'other', outcome: '4xx' }, value: 1 },
        { labels: { host, outcome: '2xx' }, value: 1 },
        { labels: { host, outcome: '5xx' }, value: 1 },
      ])
      assert.deepEqual(
        (await samples(service, 'troupe_peer_call_duration_seconds_count')).map(({ labels }) => labels['outcome']),
        ['4xx', '2xx', '5xx'],
      )
    } finally {
      await remote.stop()
    }
  })

  it('give no label to a host that responds without a relationship', async () => {
    const remote = await new RecordingPeer().start()
    remote.replies = [200]
    try {
      const service = await start({ allowPrivatePeers: true })
      const actor = await service.createActor()
      await actor.request('POST', '/trust', { url: `${remote.url}/remote`, relationship: 'friend' })
      const counted = await samples(service, 'troupe_peer_calls_total')
      assert.ok(remote.received.length > 0)
      assert.deepEqual(
        counted.map(({ labels }) => labels),
        [{ host: 'other', outcome: '2xx' }],
      )
    } finally {
      await remote.stop()
    }
  })

  it('distinguish a limited number of hosts, and none that strangers name', () => {
    const hosts = new HostLabels(2)
    assert.equal(hosts.labelOf('stranger.example', false), 'other')
    assert.equal(hosts.labelOf('one.example', true), 'one.example')
    assert.equal(hosts.labelOf('one.example', false), 'one.example')
    assert.equal(hosts.labelOf('stranger.example', false), 'other')
    assert.equal(hosts.labelOf('two.example', true), 'two.example')
    assert.equal(hosts.labelOf('three.example', true), 'other')
    assert.equal(hosts.labelOf('two.example', true), 'two.example')
  })
})

describe('the table of metrics in docs/operations.md', () => {
  const rows = documentedMetrics()

  it('lists every metric of the service with its type, and no other', async () => {
    const service = await start()
    const text = await (await service.request('/metrics')).text()
    const known = [...text.matchAll(/^# TYPE (troupe_\w+) (\w+)$/gm)].map(
      ([, name = '', type = '']) => `${name} ${type}`,
    )
    assert.deepEqual(rows.map(({ name, type }) => `${name} ${type}`).toSorted(), known.toSorted())
  })

  it('lists the labels of each metric, and no label contains a secret or identifies a person', async () => {
    const remote = await new RecordingPeer().start()
    try {
      const service = await start({ declare, allowPrivatePeers: true, devtest: true })
      const actor = await service.createActor('somebody@example.com')
      const session = await signIn(service, actor)
      const client = await authorizeClient(service, actor)
      await client.modern('tools/call', { name: 'add_note' })
      const peer = await relateTo(service, actor, { baseuri: `${remote.url}/remote` })
      await peer.subscribe({ granularity: 'high' })
      await actor.request('PUT', '/properties/color', 'planted-value')
      await remote.has(1)
      const text = await (await service.request('/metrics')).text()
      const labelsOf = new Map(rows.map(({ name, labels }) => [name, new Set([...labels, 'le'])]))
      let seen = 0
      for (const [, sample = '', labels = ''] of text.matchAll(/^(troupe_\w+)\{(.*)\} /gm)) {
        const known = labelsOf.get(sample) ?? labelsOf.get(sample.replace(/_(bucket|sum|count)$/, ''))
        for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) {
          assert.ok(known?.has(label) === true, `${sample}: ${label}`)
          seen += 1
        }
      }
      assert.ok(seen > 50)
      for (const secret of [
        actor.id,
        actor.creator,
        actor.passphrase,
        session,
        client.token,
        client.clientId,
        peer.peerId,
        peer.secret,
        'planted-value',
      ])
        assert.ok(!text.includes(secret), secret)
    } finally {
      await remote.stop()
    }
  })
})
