import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Registry } from '../../src/app/registry.ts'
import type { McpRequest } from '../../src/mcp/call/call.ts'
import { labelsOf, targetOf } from '../../src/mcp/call/call-labels.ts'
import { catalogueOf } from '../../src/mcp/catalogue/catalogue.ts'
import { legacyCodec } from '../../src/mcp/codecs/legacy.ts'
import { modernCodec } from '../../src/mcp/codecs/modern.ts'
import type { AuditedCall, McpDeps } from '../../src/mcp/deps.ts'
import { McpDispatcher } from '../../src/mcp/dispatcher.ts'
import { callMethodOf, capabilitiesOf, mcpMethods, mcpMethodOf } from '../../src/mcp/methods.ts'
import { readBody } from '../../src/mcp/protocol/message.ts'
import { legacyRevisions, modernRevision, type Revision } from '../../src/mcp/protocol/revisions.ts'
import { judgeModern } from '../../src/mcp/protocol-version.ts'
import { Streams } from '../../src/mcp/streams.ts'
import { Tracing } from '../../src/observe/tracing.ts'

/** The server methods in the schema of each revision, with the methods of the tasks extension (2026-07-28). */
const handshakeEra = [
  'initialize',
  'ping',
  'completion/complete',
  'logging/setLevel',
  'prompts/get',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'tools/call',
  'tools/list',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/initialized',
  'notifications/roots/list_changed',
]
const official: Readonly<Record<Revision, readonly string[]>> = {
  '2024-11-05': handshakeEra,
  '2025-03-26': handshakeEra,
  '2025-06-18': handshakeEra,
  '2025-11-25': [
    ...handshakeEra,
    'tasks/get',
    'tasks/result',
    'tasks/list',
    'tasks/cancel',
    'notifications/tasks/status',
  ],
  '2026-07-28': [
    'completion/complete',
    'prompts/get',
    'prompts/list',
    'resources/list',
    'resources/templates/list',
    'resources/read',
    'server/discover',
    'subscriptions/listen',
    'tools/call',
    'tools/list',
    'tasks/get',
    'tasks/update',
    'tasks/cancel',
    'notifications/cancelled',
    'notifications/progress',
  ],
}

/** Methods without a row, each with the reason. */
const experimentalTasks = 'the tasks of this revision are an experiment, which the tasks extension replaced'
const absent: Readonly<Record<string, string>> = {
  '2025-11-25 tasks/get': experimentalTasks,
  '2025-11-25 tasks/result': experimentalTasks,
  '2025-11-25 tasks/list': experimentalTasks,
  '2025-11-25 tasks/cancel': experimentalTasks,
  '2025-11-25 notifications/tasks/status': experimentalTasks,
  '2026-07-28 notifications/cancelled': 'over HTTP a client cancels a call by closing its stream',
}
const ignoredNotifications: Readonly<Record<string, string>> = {
  'notifications/progress': 'the server requests no progress',
  'notifications/initialized': 'the session exists after the response to initialize',
  'notifications/roots/list_changed': 'a handler requests the roots when it needs them',
}

const revisions: readonly Revision[] = [...legacyRevisions, modernRevision]
const everyName = [...new Set(Object.values(official).flat())]

function isAbsent(name: string, revision: Revision): boolean {
  return name in ignoredNotifications || `${revision} ${name}` in absent
}

const registry = new Registry()
registry.addOperation('actions', 'find', { mcp: true }, () => null)
registry.addOperation('methods', 'greet', { mcp: { prompt: true } }, () => null)
const catalogue = catalogueOf(registry)
const empty = catalogueOf(new Registry())

function request(method: string, revision: Revision, params: McpRequest['params'] = {}): McpRequest {
  return {
    access: {
      actor: { id: 'a' },
      caller: { kind: 'client', peerId: 'p', clientId: 'c', relationship: 'friend' },
      token: { scope: 'mcp', audience: '', expiresAt: 0 },
      remembered: null,
    } as unknown as McpRequest['access'],
    revision,
    method,
    params,
    client: { info: null, capabilities: {}, logLevel: null },
    session: null,
    sessionId: null,
    header: () => undefined,
  }
}

interface Dispatched {
  /** False when the reply says that the method does not exist. */
  readonly isKnown: boolean
  readonly label: string | null
  readonly noted: AuditedCall | null
}

/** Only the dispatcher is real: a handler that is called fails with another error than “unknown method”. */
async function dispatch(asked: McpRequest): Promise<Dispatched> {
  let label: string | null = null
  let noted: AuditedCall | null = null
  const deps = {
    catalogues: { of: () => catalogue },
    tracing: new Tracing('test'),
    metrics: { mcpCalled: (call: { method: string }) => (label = call.method), mcpSessionBegun: () => {} },
    note: (call: AuditedCall) => (noted = call),
    sessions: { answers: null },
    log: { error: () => {} },
  } as unknown as McpDeps
  const { revision } = asked
  const codec = revision === modernRevision ? modernCodec({ name: 't', version: '1' }) : legacyCodec(revision)
  const connection = { reauthorize: () => Promise.resolve(null), onGone: () => () => {} }
  const reply = await new McpDispatcher(deps, new Streams()).request(asked, 1, codec, connection).catch(() => null)
  const body = reply?.kind === 'json' ? (reply.body as { error?: { code: number } }) : {}
  return { isKnown: body.error?.code !== -32601, label, noted }
}

describe('the table of MCP methods', () => {
  it('has one row for each method', () => {
    const names = mcpMethods.map(({ name }) => name)
    assert.deepEqual(names, [...new Set(names)])
  })

  it('is the only place in src/mcp that names a method, apart from the file of the method', async () => {
    const root = join(import.meta.dirname, '..', '..', 'src', 'mcp')
    const files = (await readdir(root, { recursive: true })).filter((file) => file.endsWith('.ts'))
    for (const file of files) {
      if (file === 'methods.ts' || file.startsWith('methods/')) continue
      const text = await readFile(join(root, file), 'utf8')
      for (const { name } of mcpMethods) assert.ok(!text.includes(`'${name}'`), `${file} names ${name}`)
    }
  })

  for (const revision of revisions) {
    it(`has every official method of ${revision}, except for the methods with a reason`, () => {
      const expected = official[revision].filter((name) => !isAbsent(name, revision))
      const rows = mcpMethods.filter((method) => method.revisions.includes(revision)).map(({ name }) => name)
      assert.deepEqual(rows.toSorted(), expected.toSorted())
    })

    it(`decides which requests reach a handler in ${revision}`, async () => {
      for (const name of everyName) {
        const row = mcpMethodOf(name, revision)
        const { isKnown } = await dispatch(request(name, revision))
        assert.equal(isKnown, row !== undefined && row.kind !== 'notification', name)
      }
    })
  }

  it('has no row for a method with a reason', () => {
    for (const key of Object.keys(absent)) {
      const [revision = '', name = ''] = key.split(' ')
      assert.equal(mcpMethodOf(name, revision as Revision), undefined, key)
    }
    for (const name of Object.keys(ignoredNotifications)) {
      assert.ok(!mcpMethods.some((method) => method.name === name), name)
    }
  })

  it('does not mistake a member of Object.prototype for a method', () => {
    for (const name of ['constructor', '__proto__', 'toString', '']) {
      for (const revision of revisions) assert.equal(mcpMethodOf(name, revision), undefined, name)
    }
  })
})

describe('the capabilities of the server', () => {
  const common = {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    logging: {},
  }
  const cases: [revision: Revision, expected: object][] = [
    ['2024-11-05', common],
    ['2025-03-26', { ...common, completions: {} }],
    ['2025-06-18', { ...common, completions: {} }],
    ['2025-11-25', { ...common, completions: {} }],
    ['2026-07-28', { ...common, completions: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } }],
  ]
  for (const [revision, expected] of cases) {
    it(`are those of the methods of ${revision}`, () => {
      assert.deepEqual(capabilitiesOf(catalogue, revision), expected)
    })
  }

  it('contain no tools and no prompts when the application declares none', () => {
    assert.deepEqual(capabilitiesOf(empty, '2025-11-25'), {
      resources: { subscribe: true, listChanged: true },
      completions: {},
      logging: {},
    })
  })
})

describe('a call of an MCP method', () => {
  for (const method of mcpMethods) {
    const [revision = modernRevision] = method.revisions
    if (method.kind === 'notification') continue
    if (method.kind !== 'call') {
      it(`to ${method.name} is neither measured nor recorded in the audit log`, async () => {
        const { label, noted } = await dispatch(request(method.name, revision))
        assert.equal(label, null)
        assert.equal(noted, null)
      })
      continue
    }
    it(`to ${method.name} is measured and recorded under its name, with its target`, async () => {
      const params = { name: 'the name', uri: 'the uri', taskId: 'the taskId' }
      const { label, noted } = await dispatch(request(method.name, revision, params))
      assert.equal(label, method.name)
      assert.equal(noted?.method, method.name)
      assert.equal(noted.target, method.target === undefined ? '' : `the ${method.target}`)
      assert.equal(noted.isRead, method.name !== 'tools/call')
    })
  }

  it('without a row is measured as "other" and recorded under the name that the client sent', async () => {
    const { label, noted } = await dispatch(request('made/up', '2025-11-25', { name: 'find' }))
    assert.equal(label, 'other')
    assert.equal(noted?.method, 'made/up')
    assert.equal(noted.target, '')
  })

  it('has a tool or a prompt in its labels only when the application declares the name', () => {
    const labels = (method: string, name: unknown): object =>
      labelsOf(callMethodOf(method, modernRevision), request(method, modernRevision, { name }), catalogue)
    assert.deepEqual(labels('tools/call', 'find'), { method: 'tools/call', tool: 'find', span: 'tools/call find' })
    assert.deepEqual(labels('tools/call', 'made up'), { method: 'tools/call', tool: '', span: 'tools/call' })
    assert.deepEqual(labels('tools/call', 7), { method: 'tools/call', tool: '', span: 'tools/call' })
    assert.deepEqual(labels('prompts/get', 'greet'), { method: 'prompts/get', tool: '', span: 'prompts/get greet' })
    assert.deepEqual(labels('tools/list', 'find'), { method: 'tools/list', tool: '', span: 'tools/list' })
  })

  it('has the target that its row names, whatever else the client sends', () => {
    const read = callMethodOf('resources/read', '2025-11-25')
    assert.equal(targetOf(read, { name: 'harmless', uri: 'notes://secret' }), 'notes://secret')
    assert.equal(targetOf(read, { uri: ['notes://secret'] }), '')
  })
})

describe('the Mcp-Name header', () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const mirrored: Readonly<Record<string, string>> = {
    'tools/call': 'name',
    'prompts/get': 'name',
    'resources/read': 'uri',
    'tasks/get': 'taskId',
    'tasks/update': 'taskId',
    'tasks/cancel': 'taskId',
  }
  for (const method of everyName) {
    const parameter = mirrored[method]
    it(`${parameter === undefined ? 'is not needed' : `must equal "${parameter}"`} for ${method}`, () => {
      const params = { name: 'the name', uri: 'the uri', taskId: 'the taskId', _meta: meta }
      const message = readBody(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
      assert.ok(message.kind === 'request')
      const judged = (name: string | undefined): number | undefined =>
        judgeModern(message, { version: '2026-07-28', method, name, repeated: false })?.code
      assert.equal(judged(undefined), parameter === undefined ? undefined : -32020)
      if (parameter !== undefined) assert.equal(judged(`the ${parameter}`), undefined)
    })
  }
})
