import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { anonymous, application, type Caller } from '../../src/caller.ts'
import { ServiceError } from '../../src/errors.ts'
import type { Category, Operation, Right } from '../../src/permission/operation.ts'
import { Permission, type RelationshipRules } from '../../src/permission/permission.ts'
import type { Queries } from '../../src/store/store.ts'
import { Relationships } from '../../src/trust/relationships.ts'
import { TrustTypes } from '../../src/permission/trust-types.ts'

const peer = { kind: 'peer', peerId: 'urn:peer', relationship: 'friend', approved: true, via: 'bearer' } as const
const client = {
  kind: 'client',
  clientId: 'tool',
  peerId: 'oauth2_client:tool',
  relationship: 'mcp_client',
  via: 'bearer',
} as const
/** Rules that are not in the store send no statements. */
const noQueries: Queries = {
  isSharded: false,
  all: () => Promise.resolve([]),
  get: () => Promise.resolve(undefined),
}
const as = (relationship: string): Caller => ({ ...peer, relationship })

const callers: Readonly<Record<string, Caller>> = {
  anonymous,
  application,
  creator: { kind: 'creator', via: 'basic' },
  'creator by cookie': { kind: 'creator', via: 'cookie' },
  trustee: { kind: 'trustee', via: 'bearer' },
  friend: as('friend'),
  partner: as('partner'),
  admin: as('admin'),
  associate: as('associate'),
  viewer: as('viewer'),
  'an application-defined type': as('neighbor'),
  'not approved': { ...peer, approved: false },
  'an admin that is not approved': { ...peer, relationship: 'admin', approved: false },
  'a peer without an identity': { ...peer, peerId: '' },
  client,
  'an admin client': { ...client, relationship: 'admin' },
  'a client without an identity': { ...client, clientId: '' },
  'a client that is not approved': { ...client, relationship: '' },
}

const categories: readonly Category[] = [
  'actor',
  'properties',
  'resources',
  'methods',
  'actions',
  'tools',
  'prompts',
  'trust',
  'subscriptions',
  'callbacks',
  'permissions',
  'services',
  'activity',
  'approvals',
  'www',
  'sessions',
  'keys',
  'devtest',
  'feature/bookmarks',
]
const rights: readonly Right[] = ['read', 'write', 'delete']

const everything = 'rwd'
const nothing: Readonly<Record<string, string>> = {}
const data = {
  properties: everything,
  resources: everything,
  methods: everything,
  actions: everything,
  tools: everything,
  prompts: everything,
  permissions: 'r',
}
const all = {
  actor: everything,
  properties: everything,
  resources: everything,
  methods: everything,
  actions: everything,
  tools: everything,
  prompts: everything,
  trust: everything,
  subscriptions: everything,
  callbacks: everything,
  permissions: everything,
  services: everything,
  activity: 'r',
  approvals: 'rw',
  www: everything,
  sessions: everything,
  keys: everything,
  devtest: everything,
  'feature/bookmarks': everything,
}
const administration = { ...data, actor: everything, trust: everything, services: everything }

/** The rights of each caller before any rule: r, w and d. A missing category is closed. */
const table: Readonly<Record<keyof typeof callers, Readonly<Record<string, string>>>> = {
  anonymous: nothing,
  application: { ...all, activity: everything, approvals: everything },
  creator: all,
  'creator by cookie': all,
  trustee: { actor: everything, trust: everything, subscriptions: everything, services: everything },
  friend: data,
  partner: data,
  admin: administration,
  associate: data,
  viewer: data,
  'an application-defined type': data,
  'not approved': nothing,
  'an admin that is not approved': nothing,
  'a peer without an identity': nothing,
  client: data,
  'an admin client': data,
  'a client without an identity': nothing,
  'a client that is not approved': nothing,
}

const grantAll: RelationshipRules = async () => () => ({ allowed: true, reason: 'a rule' })

async function refusalOf(work: Promise<unknown>): Promise<ServiceError> {
  try {
    await work
  } catch (error) {
    assert.ok(error instanceof ServiceError)
    return error
  }
  assert.fail('it was not refused')
}

describe('the table of roles', () => {
  for (const [who, caller] of Object.entries(callers)) {
    it(`opens exactly these categories to ${who} (R-PERM-04)`, async () => {
      const permission = new Permission(grantAll)
      const open: Record<string, string> = {}
      for (const category of categories) {
        const letters = rights
          .filter((right) => permission.mayTouch(caller, { category, right }).allowed)
          .map((right) => right[0])
        if (letters.length > 0) open[category] = letters.join('')
        // Rules only narrow the table, whatever they grant.
        for (const right of rights) {
          const whole = await permission.may('actor1', caller, { category, right, target: 'x' })
          assert.equal(whole.allowed, letters.includes(right[0]), `${right} ${category}`)
        }
      }
      assert.deepEqual(open, Object.fromEntries(Object.entries(table[who] ?? {}).sort(byCategory)))
    })
  }

  it('decides alone where rules do not apply: an administrator sees relationships, a friend does not (R-PERM-04)', async () => {
    const relationships = new Relationships(new TrustTypes([]), () => 0)
    const permission = new Permission(async (_actorId, { relationship }) => relationships.judge(relationship, null))
    const operation = { category: 'trust', right: 'read', target: 'x' } as const
    assert.deepEqual(
      [
        (await permission.may('actor1', as('admin'), operation)).allowed,
        (await permission.may('actor1', as('friend'), operation)).allowed,
      ],
      [true, false],
    )
  })

  const byCategory = ([one]: [string, string], [other]: [string, string]): number =>
    categories.indexOf(one as Category) - categories.indexOf(other as Category)
})

describe('a decision', () => {
  const reasons: readonly [who: keyof typeof callers, operation: Omit<Operation, 'target'>, reason: string][] = [
    ['anonymous', { category: 'properties', right: 'read' }, 'no credentials'],
    ['application', { category: 'properties', right: 'read' }, 'the application itself'],
    ['creator', { category: 'devtest', right: 'read' }, 'the creator may read devtest'],
    ['trustee', { category: 'trust', right: 'write' }, 'a trustee may write trust'],
    ['trustee', { category: 'properties', right: 'read' }, 'a trustee may not read properties'],
    ['not approved', { category: 'properties', right: 'read' }, 'the relationship is not approved'],
    ['an admin that is not approved', { category: 'actor', right: 'read' }, 'the relationship is not approved'],
    ['a peer without an identity', { category: 'properties', right: 'read' }, 'the peer has no identity'],
    ['a client without an identity', { category: 'properties', right: 'read' }, 'the client has no identity'],
    ['friend', { category: 'properties', right: 'read' }, 'relationship friend may read properties'],
    ['friend', { category: 'www', right: 'read' }, 'relationship friend may not read www'],
    ['associate', { category: 'trust', right: 'read' }, 'relationship associate may not read trust'],
    ['client', { category: 'actor', right: 'delete' }, 'relationship mcp_client may not delete actor'],
  ]
  it('has a reason', () => {
    const permission = new Permission()
    for (const [who, operation, reason] of reasons) {
      assert.equal(permission.mayTouch(callers[who] ?? anonymous, operation).reason, reason)
    }
  })

  it('is a denial when no rule grants the operation, even where the table allows it (ACL-08)', async () => {
    const permission = new Permission()
    for (const relationship of ['friend', 'partner', 'admin', 'associate', 'viewer', 'neighbor', '', '__proto__']) {
      const operation = { category: 'properties', right: 'read', target: 'color' } as const
      assert.deepEqual(await permission.may('actor1', as(relationship), operation), {
        allowed: false,
        reason: 'no rule grants it',
      })
    }
  })

  it('uses no role of the table for a relationship whose name equals the role (ACL-08)', () => {
    const permission = new Permission(grantAll)
    for (const relationship of ['creator', 'trustee', 'owner', 'application', 'constructor', '__proto__', 'Admin']) {
      for (const category of ['actor', 'trust', 'services', 'activity', 'www', 'devtest'] as const) {
        assert.equal(permission.mayTouch(as(relationship), { category, right: 'read' }).allowed, false, relationship)
      }
    }
  })

  it('of many relationships runs the first check once for those that are alike (HTTP-34)', async () => {
    const permission = new Permission(grantAll)
    let checks = 0
    const first = permission.mayTouch.bind(permission)
    permission.mayTouch = (caller, operation) => {
      checks += 1
      return first(caller, operation)
    }
    const kinds = [
      peer,
      { ...peer, approved: false },
      { ...peer, peerId: '' },
      client,
      { ...client, clientId: '' },
      { ...client, relationship: '' },
    ] as const
    const relations = Array.from({ length: 100 }, (_, n) =>
      kinds.map((caller) => ({
        actorId: 'actor1',
        caller: { ...caller, peerId: caller.peerId === '' ? '' : `${caller.peerId}${n}` },
      })),
    ).flat()
    const judgeOf = await permission.judgeEach(noQueries, relations)
    const judges = relations.map(judgeOf)
    assert.ok(checks < 100, `${checks} checks`)
    const operation = { category: 'properties', right: 'read', target: 'color' } as const
    assert.deepEqual(
      judges.map((judge) => judge(operation).allowed),
      Array.from({ length: 100 }, () => [true, false, false, true, false, false]).flat(),
    )
  })

  it('calls the rules of peers and clients only, with the complete operation', async () => {
    const asked: unknown[] = []
    const permission = new Permission(async (actorId, caller) => (operation) => {
      asked.push([actorId, caller.kind, operation])
      return { allowed: operation.target === 'settings/theme', reason: 'because' }
    })
    const operation = { category: 'properties', right: 'write', target: 'settings/theme' } as const
    for (const caller of Object.values(callers)) await permission.may('actor1', caller, operation)
    assert.deepEqual(asked, [
      ['actor1', 'peer', operation],
      ['actor1', 'peer', operation],
      ['actor1', 'peer', operation],
      ['actor1', 'peer', operation],
      ['actor1', 'peer', operation],
      ['actor1', 'peer', operation],
      ['actor1', 'client', operation],
      ['actor1', 'client', operation],
    ])
    assert.deepEqual(await permission.may('actor1', peer, { ...operation, target: 'settings' }), {
      allowed: false,
      reason: 'because',
    })
  })

  it('fails when the rules fail, instead of a grant or an empty result (ACL-08)', async () => {
    const broken = new Error('broken')
    const failing: readonly RelationshipRules[] = [
      () => {
        throw broken
      },
      () => Promise.reject(broken),
      async () => () => {
        throw broken
      },
    ]
    const operation = { category: 'properties', right: 'read', target: 'color' } as const
    for (const rules of failing) {
      const permission = new Permission(rules)
      await assert.rejects(permission.may('actor1', peer, operation), broken)
      await assert.rejects(permission.require('actor1', peer, operation), broken)
      await assert.rejects(permission.requireAll('actor1', peer, operation, ['color']), broken)
      await assert.rejects(permission.filter('actor1', peer, operation, ['color']), broken)
    }
  })

  it('is a denial when the rules return anything but an explicit grant (ACL-08)', async () => {
    for (const verdict of [undefined, null, {}, { allowed: undefined }, Promise.resolve({ allowed: true })]) {
      const permission = new Permission(async () => () => verdict as never)
      const operation = { category: 'properties', right: 'read', target: 'color' } as const
      const granted = await permission.require('actor1', peer, operation).then(
        () => true,
        () => false,
      )
      assert.equal(granted, false)
    }
  })
})

describe('a denied operation', () => {
  it('is 401 without credentials and 403 with them, and keeps its reason for the log', async () => {
    const permission = new Permission()
    const operation = { category: 'properties', right: 'write', target: 'color' } as const
    const unauthenticated = await refusalOf(permission.require('actor1', anonymous, operation))
    assert.deepEqual(
      [unauthenticated.status, unauthenticated.code, unauthenticated.message, unauthenticated.detail],
      [
        401,
        'unauthorized',
        'Authentication required',
        { reason: 'anonymous may not write properties/color: no credentials' },
      ],
    )
    const friend = await refusalOf(permission.require('actor1', peer, operation))
    assert.deepEqual(
      [friend.status, friend.code, friend.message, friend.detail],
      [
        403,
        'forbidden',
        'Cannot write properties/color: these credentials do not allow it',
        { reason: 'peer urn:peer may not write properties/color: no rule grants it' },
      ],
    )
    const tool = await refusalOf(permission.require('actor1', client, { ...operation, target: '' }))
    assert.equal(tool.message, 'Cannot write properties: these credentials do not allow it')
    assert.equal(tool.detail.reason, 'client tool may not write properties: no rule grants it')
  })

  it('repeats only the beginning of a long name (SEC-07)', async () => {
    const operation = { category: 'methods', right: 'write', target: 'n'.repeat(1_000_000) } as const
    const { message, detail } = await refusalOf(new Permission().require('actor1', peer, operation))
    assert.equal(message, `Cannot write methods/${'n'.repeat(120)}: these credentials do not allow it`)
    assert.equal(detail.reason, `peer urn:peer may not write methods/${'n'.repeat(120)}: no rule grants it`)
  })
})

describe('a decision about many targets', () => {
  const operation = { category: 'properties', right: 'read' } as const

  function reading(granted: readonly string[]): { permission: Permission; reads: () => number } {
    let reads = 0
    const permission = new Permission(async () => {
      reads += 1
      return ({ target }) => ({ allowed: granted.includes(target), reason: 'because' })
    })
    return { permission, reads: () => reads }
  }

  it('is made for each target by rules that are read once', async () => {
    const targets = Array.from({ length: 500 }, (_, n) => `p${n}`)
    const { permission, reads } = reading(['p3', 'p400', 'elsewhere'])
    assert.deepEqual(Array.from(await permission.filter('actor1', peer, operation, targets)), ['p3', 'p400'])
    assert.equal(reads(), 1)
    const refusal = await refusalOf(permission.requireAll('actor1', peer, operation, ['p3', 'p4', 'p400']))
    assert.equal(refusal.detail.reason, 'peer urn:peer may not read properties/p4: because')
    await permission.requireAll('actor1', peer, operation, ['p3', 'p400'])
    assert.equal(reads(), 3)
  })

  it('is a grant for the owner and a denial without credentials, without a read of rules', async () => {
    const { permission, reads } = reading([])
    const targets = ['a', 'b']
    const shownTo = async (caller: Caller): Promise<string[]> =>
      Array.from(await permission.filter('actor1', caller, operation, targets))
    assert.deepEqual(await shownTo({ kind: 'creator', via: 'basic' }), ['a', 'b'])
    assert.deepEqual(await shownTo(application), ['a', 'b'])
    assert.deepEqual(await shownTo(anonymous), [])
    assert.deepEqual(await shownTo({ kind: 'trustee', via: 'bearer' }), [])
    assert.deepEqual(await shownTo({ ...peer, approved: false }), [])
    await assert.rejects(permission.requireAll('actor1', anonymous, operation, targets), { code: 'unauthorized' })
    await permission.requireAll('actor1', application, operation, targets)
    assert.equal(reads(), 0)
  })

  it('is one function for relationships with the same rules, and another for one that is not approved', async () => {
    const shared = () => ({ allowed: true, reason: 'shared' })
    const own = () => ({ allowed: true, reason: 'own' })
    const permission = new Permission(undefined, () =>
      Promise.resolve(({ caller }) => (caller.peerId === 'urn:own' ? own : shared)),
    )
    const relationTo = (peerId: string, approved = true) => ({
      actorId: 'actor1',
      caller: { ...peer, peerId, approved },
    })
    const relations = [relationTo('urn:a'), relationTo('urn:b'), relationTo('urn:own'), relationTo('urn:c', false)]
    const judgeOf = await permission.judgeMany(noQueries, relations, operation)
    const [first, second, third, unapproved] = relations.map(judgeOf)
    assert.equal(first, second)
    assert.notEqual(first, third)
    assert.deepEqual(
      [first, second, third, unapproved].map((judge) => judge?.('mood')),
      [
        { allowed: true, reason: 'shared' },
        { allowed: true, reason: 'shared' },
        { allowed: true, reason: 'own' },
        { allowed: false, reason: 'the relationship is not approved' },
      ],
    )
  })
})
