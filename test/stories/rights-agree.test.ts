/* oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-assignment, typescript/no-unsafe-return, typescript/no-unsafe-call, typescript/no-unsafe-argument -- the test compares untyped protocol responses with literals */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import type { Kind } from '../../src/app/kinds/kind.ts'
import type { RoleRights } from '../../src/app/kinds/roles.ts'
import { ownerOf, PassphraseBrowser } from '../support/kind-owner.ts'
import { authorizeClient, type McpAnswer, type TestClient } from '../support/mcp-client.ts'
import { relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { isGranted, type RulesOnWire } from '../support/rights-model.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

interface World {
  readonly actor: TestActor
  readonly peer: TestRelationship
  readonly client: TestClient
  readonly browser: Pick<OwnersBrowser, 'get'>
  /** The values that the page of a peer received, latest first. */
  readonly pages: PageValues<'trustPeer'>[]
  /** The peer's subscription to all properties, with the last sequence number that it acknowledged. */
  readonly subscription: string
}

/** A question about the rights of a peer, with the requests that must agree with the explanation. */
interface Probe {
  readonly question: string
  /** The decision by the documented rules. */
  readonly decided: readonly [category: string, operation: string, target: string]
  readonly requests: readonly (readonly [method: string, path: string, body?: unknown])[]
}

const probes: readonly Probe[] = [
  { question: 'read:p', decided: ['properties', 'read', 'p'], requests: [['GET', '/properties/p']] },
  { question: 'read:p/a', decided: ['properties', 'read', 'p/a'], requests: [['GET', '/properties/p/a']] },
  { question: 'read:none', decided: ['properties', 'read', 'none'], requests: [['GET', '/properties/none']] },
  {
    question: 'read:l',
    decided: ['properties', 'read', 'l'],
    requests: [
      ['GET', '/properties/l'],
      ['GET', '/properties/l?index=0'],
    ],
  },
  { question: 'read:l/0', decided: ['properties', 'read', 'l'], requests: [['GET', '/properties/l/0']] },
  { question: 'read:l/items', decided: ['properties', 'read', 'l'], requests: [['GET', '/properties/l/items']] },
  { question: 'read:l/metadata', decided: ['properties', 'read', 'l'], requests: [['GET', '/properties/l/metadata']] },
  {
    question: 'append:l',
    decided: ['properties', 'append', 'l'],
    requests: [
      ['POST', '/properties/l', 'new'],
      ['PUT', '/properties/l/2', 'new'],
      ['POST', '/properties/l/items', { action: 'add', item_value: 'new' }],
      ['POST', '/properties', { l: { items: [{ index: 2, text: 'new' }] } }],
    ],
  },
  {
    question: 'write:l',
    decided: ['properties', 'write', 'l'],
    requests: [
      ['PUT', '/properties/l', 'a value'],
      ['POST', '/properties', { l: { items: [{ index: 0, text: 'changed' }] } }],
      ['PUT', '/properties', { l: { items: [{ index: 1 }] } }],
      ['POST', '/properties', { l: { _type: 'list' } }],
    ],
  },
  {
    question: 'write:l/0',
    decided: ['properties', 'write', 'l'],
    requests: [
      ['PUT', '/properties/l/0', 'changed'],
      ['POST', '/properties/l/items', { action: 'update', item_index: 0, item_value: 'changed' }],
    ],
  },
  {
    question: 'write:l/metadata',
    decided: ['properties', 'write', 'l'],
    requests: [['PUT', '/properties/l/metadata', { description: 'changed' }]],
  },
  {
    question: 'delete:l/0',
    decided: ['properties', 'write', 'l'],
    requests: [
      ['DELETE', '/properties/l/0'],
      ['DELETE', '/properties/l?index=1'],
      ['POST', '/properties/l/items', { action: 'delete', item_index: 0 }],
    ],
  },
  { question: 'delete:l', decided: ['properties', 'delete', 'l'], requests: [['DELETE', '/properties/l']] },
  {
    question: 'write:p',
    decided: ['properties', 'write', 'p'],
    requests: [
      ['PUT', '/properties/p', { a: 2 }],
      ['POST', '/properties/p', { a: 2 }],
      ['PUT', '/properties', { p: { a: 2 } }],
    ],
  },
  {
    question: 'write:p/a',
    decided: ['properties', 'write', 'p/a'],
    requests: [
      ['PUT', '/properties/p/a', 2],
      ['PUT', '/properties/p/a', ''],
    ],
  },
  { question: 'delete:p/a', decided: ['properties', 'delete', 'p/a'], requests: [['DELETE', '/properties/p/a']] },
  {
    question: 'delete:p',
    decided: ['properties', 'delete', 'p'],
    requests: [
      ['DELETE', '/properties/p'],
      ['PUT', '/properties/p', ''],
      ['POST', '/properties/p', ''],
      ['PUT', '/properties', { p: '' }],
      ['POST', '/properties', { p: '' }],
    ],
  },
  { question: 'write:none', decided: ['properties', 'write', 'none'], requests: [['POST', '/properties/none', 'x']] },
  { question: 'call:m', decided: ['methods', 'call', 'm'], requests: [['POST', '/methods/m', {}]] },
  { question: 'execute:do_it', decided: ['actions', 'execute', 'do_it'], requests: [['POST', '/actions/do_it', {}]] },
  { question: 'resources.read:r', decided: ['resources', 'read', 'r'], requests: [['GET', '/resources/r']] },
  { question: 'resources.write:r', decided: ['resources', 'write', 'r'], requests: [['PUT', '/resources/r', {}]] },
  { question: 'resources.delete:r', decided: ['resources', 'delete', 'r'], requests: [['DELETE', '/resources/r']] },
]

const uri = (name: string): string => `actingweb://properties/${name}`

/** The same questions for an AI client, with the MCP call that must agree. */
const clientProbes: readonly {
  readonly question: string
  readonly decided: Probe['decided']
  readonly call: readonly [method: string, params: object]
}[] = [
  ...['p', 'l', 'all'].map((name) => ({
    question: `resources.read:${uri(name)}`,
    decided: ['resources', 'read', uri(name)] as const,
    call: ['resources/read', { uri: uri(name) }] as const,
  })),
  {
    question: 'resources.read:notes://1',
    decided: ['resources', 'read', 'notes://1'],
    call: ['resources/read', { uri: 'notes://1' }],
  },
  { question: 'use:do_it', decided: ['tools', 'use', 'do_it'], call: ['tools/call', { name: 'do_it' }] },
  { question: 'invoke:ask_it', decided: ['prompts', 'invoke', 'ask_it'], call: ['prompts/get', { name: 'ask_it' }] },
]

const list = (...names: string[]) => fc.array(fc.constantFrom(...names), { maxLength: 2 })
const grantsOf = (names: string[], operations: string[]) =>
  fc.array(
    fc.record({ pattern: fc.constantFrom('*', ...names), operations: fc.subarray(operations, { minLength: 1 }) }),
    { maxLength: 2 },
  )
const ruleOf = (names: string[], operations: string[]) =>
  fc.record(
    {
      patterns: fc.array(fc.constantFrom('*', ...names), { minLength: 1, maxLength: 3 }),
      operations: fc.subarray(operations),
      excluded_patterns: list(...names),
      allowed: list('*', ...names),
      denied: list(...names),
      grants: grantsOf(names, operations),
    },
    { requiredKeys: [] },
  )
const calledOf = (operation: string, ...names: string[]) =>
  fc.record(
    { allowed: list('*', ...names), denied: list('*', ...names), grants: grantsOf(names, [operation]) },
    { requiredKeys: [] },
  )

const overrides = fc.record({
  properties: ruleOf(
    ['p', 'p/*', 'p/a', 'l', 'l/*', 'l/0', 'q', 'none', '?', '*/a'],
    ['read', 'append', 'write', 'delete', 'subscribe'],
  ),
  resources: ruleOf(
    ['r', 'notes://*', 'actingweb://', uri('*'), uri('p'), uri('l'), uri('all')],
    ['read', 'write', 'delete'],
  ),
  methods: calledOf('call', 'm', 'unknown', '?'),
  actions: calledOf('execute', 'do_it', 'do_*'),
  tools: calledOf('use', 'do_it', 'unknown'),
  prompts: calledOf('invoke', 'ask_*'),
})

const some = (...names: string[]) => fc.oneof(fc.constant('*' as const), fc.subarray(names))
const roleRights: fc.Arbitrary<RoleRights> = fc.record(
  {
    read: some('p', 'l', 'q', 'none'),
    append: some('l', 'q'),
    write: some('p', 'l', 'none'),
    delete: some('p', 'l'),
    actions: some('do_it'),
    methods: some('m'),
  },
  { requiredKeys: [] },
)

/** Whether a role grants an operation, by docs/application.md. Its kind declares neither properties nor lists. */
function isOfRole(can: RoleRights, category: string, operation: string, target: string): boolean {
  const names = (right: 'read' | 'append' | 'write' | 'delete' | 'actions' | 'methods'): readonly string[] =>
    typeof can[right] === 'string' ? (right.endsWith('s') ? [target] : []) : (can[right] ?? [])
  const [name = ''] = target.split('/')
  if (category === 'methods' || category === 'actions') return names(category).includes(target)
  if (category !== 'properties') return false
  switch (operation) {
    case 'read':
      return names('read').includes(name)
    case 'append':
      return [...names('append'), ...names('write')].includes(name)
    case 'write':
      return names('write').includes(name)
    default:
      return names('delete').includes(name)
  }
}

const content = { p: { a: 1, b: 2 }, q: 'text' }
const items = ['one', 'two']

forEachService((start, dialect) => {
  async function open(): Promise<World> {
    const pages: PageValues<'trustPeer'>[] = []
    const service: TestService = await start({
      pages: { trustPeer: (values) => (pages.unshift(values), html`peer`) },
      declare: (app) => {
        app.method('m', () => ({ done: true }))
        app.action('do_it', { mcp: true }, () => ({ done: true }))
        app.method('ask_it', { mcp: { prompt: true } }, () => 'ask')
        app.method('note', { mcp: { resource: { uri: 'notes://{id}' } } }, () => ({ note: 'n' }))
        app.resource('r', () => ({ done: true }))
      },
    })
    const actor = await service.createActor()
    await actor.request('PUT', '/properties', content)
    await remake(actor)
    const peer = await relateTo(service, actor, { relationship: 'neighbor' })
    const client = await authorizeClient(service, actor, { relationship: 'neighbor' })
    const browser = await OwnersBrowser.open(service, actor)
    const subscription = await peer.subscribe({ granularity: 'none' })
    return { actor, peer, client, browser, pages, subscription }
  }

  async function remake(actor: TestActor): Promise<void> {
    await actor.request('DELETE', '/properties/none')
    await actor.request('DELETE', '/properties/l')
    const answer = await actor.request('POST', '/properties', { ...content, l: { _type: 'list' } })
    assert.equal(answer.status, 201)
    for (const item of items) await actor.request('POST', '/properties/l', item)
  }

  const json = async (answer: Promise<Response>): Promise<McpAnswer['body']> => (await answer).json()
  const rightsPath = (peerId: string): string => `/trust/neighbor/${encodeURIComponent(peerId)}/permissions`

  /** The answers that the owner receives: the explanation over the API, and the result on the page. */
  async function explanationsOf(
    { actor, browser, pages }: Pick<World, 'actor' | 'browser' | 'pages'>,
    peerId: string,
    question: string,
  ): Promise<readonly boolean[]> {
    const encoded = encodeURIComponent(peerId)
    const { allowed, category } = await json(
      actor.request('GET', `/permissions/${encoded}?explain=${encodeURIComponent(question)}`),
    )
    const [, operation = '', target = ''] = /^(?:[a-z]+\.)?([a-z]+):(.*)$/.exec(question) ?? []
    // The form of the page requires a name.
    if (target === '') return [allowed]
    const asked = new URLSearchParams({ ask: `${category}.${operation}`, target })
    assert.equal((await browser.get(`/trust/${encoded}?${asked.toString()}`)).status, 200)
    return [allowed, pages[0]?.may.answer?.allowed ?? !allowed]
  }

  /** Asserts that every answer to one question agrees with the rules. */
  function agree(question: string, rules: RulesOnWire, decided: Probe['decided'], answers: readonly boolean[]): void {
    const expected = isGranted(rules, ...decided)
    assert.deepEqual(
      answers,
      answers.map(() => expected),
      `${question} is ${expected}`,
    )
  }

  async function checkPeer(world: Omit<World, 'client' | 'subscription'>, rules: RulesOnWire): Promise<void> {
    const { actor, peer } = world
    for (const { question, decided, requests } of probes) {
      const answers = [...(await explanationsOf(world, peer.peerId, question))]
      for (const [method, path, body] of requests) {
        const answer = await peer.request(method, path, body)
        assert.ok(answer.status < 500, `${method} ${path}: ${answer.status}`)
        answers.push(answer.status !== 403)
        if (answer.ok && method !== 'GET') await remake(actor)
      }
      agree(question, rules, decided, answers)
    }
  }

  async function checkClient(world: World, rules: RulesOnWire): Promise<void> {
    const { client } = world
    for (const { question, decided, call } of clientProbes) {
      const { body } = await client.modern(...call)
      agree(question, rules, decided, [
        ...(await explanationsOf(world, client.peerId, question)),
        body.error?.code !== 403,
      ])
    }
    const listed: string[] = (await client.modern('resources/list')).body.result.resources.map(
      (each: { uri: string }) => each.uri,
    )
    for (const name of ['p', 'l', 'all'])
      agree(`lists ${name}`, rules, ['resources', 'read', uri(name)], [listed.includes(uri(name))])
    const tools: { name: string }[] = (await client.modern('tools/list')).body.result.tools
    agree('lists do_it', rules, ['tools', 'use', 'do_it'], [tools.some(({ name }) => name === 'do_it')])
    for (const question of ['use:unknown', 'call:unknown'])
      assert.deepEqual(await explanationsOf(world, client.peerId, question), [false, false], question)
  }

  /** Checks subscriptions, the collection of all properties, and the lists for the peer itself. */
  async function checkCollections(world: World, rules: RulesOnWire): Promise<void> {
    const { actor, peer, subscription } = world
    const may = (operation: string, name: string): boolean => isGranted(rules, 'properties', operation, name)
    const path = `/subscriptions/${peer.peerId}/${subscription}`
    const { sequence } = await json(peer.request('GET', path))
    await peer.request('PUT', path, { sequence })
    await actor.request('PUT', '/properties/q', 'changed')
    const { data } = await json(peer.request('GET', path))
    const followed = data.some((diff: { data: object }) => 'q' in diff.data)
    agree(
      'subscribe:q',
      rules,
      ['properties', 'subscribe', 'q'],
      [...(await explanationsOf(world, peer.peerId, 'subscribe:q')), followed],
    )
    const shared = await json(peer.request('GET', `/trust/neighbor/${peer.peerId}/shared_properties`))
    assert.deepEqual(
      shared.shared_properties.map(({ name, operations }: { name: string; operations: string[] }) => [
        name,
        operations,
      ]),
      ['l', 'p', 'q']
        .filter((name) => may('read', name))
        .map((name) => [
          name,
          ['read', 'append', 'write', 'delete', 'subscribe'].filter(
            (operation) => may(operation, name) && (operation !== 'append' || name === 'l'),
          ),
        ]),
    )
    assert.deepEqual(
      Object.keys(await json(peer.request('GET', '/properties'))).toSorted(),
      ['l', 'p', 'q'].filter((name) => may('read', name)),
    )
    assert.deepEqual(await explanationsOf(world, peer.peerId, 'read:'), [true])
    const everything = ['', 'l', 'p', 'q'].every((name) => may('delete', name))
    const explained = await explanationsOf(world, peer.peerId, 'delete:')
    const { status } = await peer.request('DELETE', '/properties')
    assert.deepEqual([...explained, status === 204], [everything, everything], 'delete:')
    await remake(actor)
  }

  /** Asserts that the peer may do to no property what the page denies in general. */
  function checkSentences(shown: PageValues<'trustPeer'>['rights'], rules: RulesOnWire): void {
    const verbs = { read: /\bview\b/, append: /\badd to\b/, write: /\bedit\b/, delete: /\bdelete\b/ }
    const line = shown.find(({ category }) => category === 'properties')
    const denials = (line?.sentences ?? []).filter((sentence) => sentence.startsWith('Can’t'))
    const grants = (line?.sentences ?? []).filter((sentence) => sentence.startsWith('Can '))
    for (const [operation, verb] of Object.entries(verbs)) {
      const some = ['p', 'p/a', 'l', 'q', 'none', 'x'].filter((name) => isGranted(rules, 'properties', operation, name))
      if (denials.some((sentence) => verb.test(sentence))) assert.deepEqual(some, [], denials.join(' '))
      // The right to change includes the right to add, so the page states one of the two.
      const said = operation === 'append' ? /\b(?:add to|edit)\b/ : verb
      if (some.length > 0)
        assert.ok(
          grants.some((sentence) => said.test(sentence)),
          `${operation}: ${grants.join(' ')}`,
        )
    }
  }

  describe('the rights of a peer', () => {
    it('agree in enforcement, explanations, pages and listings, for any rules (CHOICE-74, ACL-05)', async () => {
      const world = await open()
      const { actor, peer, client } = world
      await fc.assert(
        fc.asyncProperty(overrides, async (override) => {
          for (const { peerId } of [peer, client]) {
            const answer = await actor.request('PUT', rightsPath(peerId), override)
            assert.ok(answer.ok, String(answer.status))
          }
          const shown: RulesOnWire = await json(actor.request('GET', rightsPath(peer.peerId)))
          const { permissions } = await json(peer.request('GET', `/permissions/${peer.peerId}`))
          for (const category of Object.keys(override)) assert.deepEqual(permissions[category], shown[category])
          await checkPeer(world, shown)
          checkSentences(world.pages[0]?.rights ?? [], shown)
          await checkClient(world, shown)
          await checkCollections(world, shown)
        }),
        { numRuns: dialect === 'sqlite' ? 12 : 3, endOnFailure: true },
      )
    })
  })

  describe('the rights of a member of a group', () => {
    it('agree in the role, enforcement, explanations and pages, for each of any roles (ACL-29, ACL-31)', async () => {
      await fc.assert(fc.asyncProperty(fc.array(roleRights, { minLength: 2, maxLength: 3 }), checkRoles), {
        numRuns: dialect === 'sqlite' ? 5 : 1,
        endOnFailure: true,
      })
    })
  })

  async function checkRoles(rights: readonly RoleRights[]): Promise<void> {
    const pages: PageValues<'trustPeer'>[] = []
    const invited: PageValues<'invited'>[] = []
    let club: Kind | undefined
    const service = await start({
      pages: {
        trustPeer: (values) => (pages.unshift(values), html`peer`),
        invited: (values) => (invited.unshift(values), html`invited`),
      },
      declare: (app) => {
        const roles = Object.fromEntries(rights.map((can, at) => [`role-${at}`, { can, manages: at === 0 }]))
        club = app.kind('club', { name: 'Club', roles })
        club.method('m', () => ({ done: true }))
        club.action('do_it', () => ({ done: true }))
        club.resource('r', () => ({ done: true }))
      },
    })
    const group = (await club?.create({ name: 'Rowing Club' })) ?? assert.fail()
    const actor = await ownerOf(service, group)
    const browser = new PassphraseBrowser(service, actor)
    await remake(actor)
    for (const [at, can] of rights.entries()) {
      const peer = await relateTo(service, actor, { relationship: 'club_member' })
      assert.equal((await actor.request('PUT', `/members/${peer.peerId}`, { role: `role-${at}` })).status, 204)
      const shown: RulesOnWire = await json(actor.request('GET', `/trust/club_member/${peer.peerId}/permissions`))
      for (const { question, decided } of probes)
        assert.equal(isGranted(shown, ...decided), isOfRole(can, ...decided), `${question} of ${JSON.stringify(can)}`)
      await checkPeer({ actor, peer, browser, pages }, shown)
      checkSentences(pages[0]?.rights ?? [], shown)
      const made: { url: string } = await json(actor.request('POST', '/members/invitations', { role: `role-${at}` }))
      await service.request(new URL(made.url).pathname, { headers: { accept: 'text/html' } })
      assert.equal(invited[0]?.membership?.role.name, `role-${at}`)
      checkSentences(invited[0]?.membership?.role.rights ?? [], shown)
    }
  }
})
