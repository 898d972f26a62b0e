import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { explain, parseQuestion } from '../../src/permission/explain.ts'
import { decide, mayReach } from '../../src/permission/decision.ts'
import { covers, reachesBelow } from '../../src/permission/pattern.ts'
import { uriOf } from '../../src/permission/property-address.ts'
import { changesOfGrants, isRevoked } from '../../src/permission/grant-diff.ts'
import { readOverride } from '../../src/trust/permissions.ts'
import { Relationships } from '../../src/trust/relationships.ts'
import {
  type EffectiveRules,
  judgeRule,
  mergeRules,
  reachesInto,
  type Rule,
  type Rules,
} from '../../src/permission/rules.ts'
import { TrustTypes } from '../../src/permission/trust-types.ts'
import { known } from '../../src/json/json.ts'

describe('a pattern', () => {
  const cases: readonly (readonly [pattern: string, target: string, covered: boolean])[] = [
    ['*', '', true],
    ['*', 'anything/at/all', true],
    ['notes', 'notes', true],
    ['notes', 'Notes', false],
    ['notes', 'notes/1', false],
    ['notes/*', 'notes/1', true],
    ['notes/*', 'notes/1/2', true],
    ['notes/*', 'notes', true],
    ['notes/*', 'notes2', false],
    ['get_*', 'get_weather', true],
    ['get_*', 'forget_it', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['*_token', 'oauth_token', true],
    ['*a*b*', 'xxaxxbxx', true],
    ['*a*b*', 'xxbxxaxx', false],
    ['notes://', 'notes://1/2', true],
    ['notes://*', 'notes://1', true],
    ['a.c', 'abc', false],
    ['(a+)+$', 'aaaaaaaa', false],
  ]
  for (const [pattern, target, covered] of cases) {
    it(`${JSON.stringify(pattern)} ${covered ? 'covers' : 'does not cover'} ${JSON.stringify(target)}`, () => {
      assert.equal(covers(pattern, target), covered)
    })
  }

  it('with many stars matches a long target without exponential backtracking (MCP-15)', () => {
    assert.equal(covers(`${'*a'.repeat(50)}b`, 'a'.repeat(20_000)), false)
  })

  it('matches like the equivalent regular expression', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 })
    const target = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 })
    fc.assert(
      fc.property(text, target, (pattern, value) => {
        const expression = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's')
        assert.equal(covers(pattern, value), expression.test(value))
      }),
    )
  })

  const letters = fc.string({
    unit: fc.constantFrom('a', '\u00e9', '\u1ebf', '\uac01', '/'),
    minLength: 1,
    maxLength: 5,
  })
  const cut = fc.tuple(letters, fc.nat(5), fc.constantFrom('', '*', '?', '/*'))
  const formsOf = (text: string): readonly string[] => [text.normalize('NFC'), text.normalize('NFD')]

  it('judges both Unicode forms of pattern and name alike, in every part of a rule (ACL-22)', () => {
    assert.equal(covers('caf\u00e9', 'cafe\u0301'), true)
    assert.equal(covers('cafe\u0301/*', 'caf\u00e9/1'), true)
    assert.equal(covers('caf?', 'cafe\u0301'), true)
    assert.equal(covers('cafe*', 'cafe\u0301'), false)
    fc.assert(
      fc.property(cut, letters, ([text, at, end], name) => {
        const pattern = `${text.slice(0, at)}${end}` || '*'
        for (const operation of ['read', 'write'])
          for (const rule of [
            { patterns: [pattern], operations: ['read'] },
            { patterns: ['*'], operations: ['read'], excluded_patterns: [pattern] },
            { allowed: ['*'], denied: [pattern] },
            { allowed: [pattern] },
            { grants: [{ pattern, operations: ['read'] }] },
          ] as const) {
            const composed = judgeRule(rule, operation, name)
            const respelled = JSON.parse(JSON.stringify(rule).normalize('NFD')) as EffectiveRules['properties']
            for (const form of formsOf(name)) {
              assert.deepEqual(judgeRule(respelled, operation, form).allowed, composed.allowed)
              // An exclusion may refuse more: it also compares an old name as it is written.
              if (composed.by !== 'patterns') assert.equal(judgeRule(rule, operation, form).allowed, composed.allowed)
            }
            assert.equal(reachesInto(respelled, operation, `${name}/`), reachesInto(rule, operation, `${name}/`))
          }
      }),
    )
  })

  it('keeps an exclusion of the plain letter for an old name that begins with the letter and a mark (ACL-22)', () => {
    const rule = { patterns: ['*'], operations: ['read'], excluded_patterns: ['cafe*'] }
    assert.equal(judgeRule(rule, 'read', 'cafe\u0301').allowed, false)
    assert.equal(judgeRule(rule, 'read', 'caf\u00e9').allowed, true)
  })

  it('of a resource refuses the address in the other percent-encoded form (ACL-22)', () => {
    // A letter with two accents also has a form that is neither NFC nor NFD.
    for (const forms of [
      ['caf\u00e9', 'cafe\u0301'],
      ['my \u1ebf', 'my e\u0302\u0301', 'my \u00ea\u0301'],
    ]) {
      const written = forms.flatMap((form) => {
        const encoded = encodeURIComponent(form)
        return [
          form.replaceAll(' ', '%20'),
          encoded,
          encoded.replaceAll(/%[8-9A-F][0-9A-F]/g, (hex) => hex.toLowerCase()),
        ]
      })
      for (const pattern of [...written, ...written.map((each) => `${each.slice(0, 2)}*${each.slice(3)}`)])
        for (const target of written) {
          const rules: EffectiveRules = {
            properties: { allowed: ['*'] },
            resources: { denied: [`actingweb://properties/${pattern}`] },
          }
          const ask = (at: string) => decide(rules, { category: 'resources', operation: 'read', target: at }).allowed
          assert.equal(ask(`actingweb://properties/${target}`), false, `${pattern} ${target}`)
          assert.equal(ask('actingweb://properties/other'), true)
        }
    }
  })

  it('of a resource leaves escapes alone that are no letters, and invalid ones (ACL-22)', () => {
    for (const [denied, target] of [
      ['a%2Fb', 'a/b'],
      ['a%2A', 'anything'],
      ['a%FF', 'a\ufffd'],
      ['a%C3', 'a'],
    ] as const) {
      const rules: EffectiveRules = {
        properties: { allowed: ['*'] },
        resources: { allowed: ['*'], denied: [`actingweb://properties/${denied}`] },
      }
      const question = { category: 'resources', operation: 'read', target: `actingweb://properties/${target}` } as const
      assert.equal(decide(rules, question).allowed, true, denied)
    }
  })

  it('reaches below a parent when the targets that it names are below that parent', () => {
    assert.equal(reachesBelow('settings/secret', 'settings'), true)
    assert.equal(reachesBelow('settings/*', 'settings'), true)
    assert.equal(reachesBelow('settings2/x', 'settings'), false)
    assert.equal(reachesBelow('*/secret', 'settings'), false)
  })
})

describe('a rule', () => {
  const rule: Rule = {
    patterns: ['shared/*', 'notes'],
    operations: ['read'],
    excluded_patterns: ['shared/private/*'],
    allowed: ['always'],
    denied: ['never', 'shared/never', 'always not'],
  }
  const cases: readonly (readonly [operation: string, target: string, by: string, allowed: boolean])[] = [
    ['read', 'never', 'denied', false],
    ['read', 'always', 'allowed', true],
    ['write', 'always', 'allowed', true],
    ['read', 'shared/never', 'denied', false],
    ['read', 'shared/x', 'patterns', true],
    ['write', 'shared/x', 'operations', false],
    ['read', 'shared/private/x', 'excluded_patterns', false],
    ['read', 'shared/private', 'excluded_patterns', false],
    // Access to the parent would include the denied and excluded targets below it.
    ['read', 'shared', 'denied', false],
    ['read', 'notes', 'patterns', true],
    ['read', 'other', 'nothing', false],
    ['read', '', 'nothing', false],
  ]
  for (const [operation, target, by, allowed] of cases) {
    it(`decides ${operation} of ${JSON.stringify(target)} by ${by}: ${allowed ? 'allowed' : 'denied'} (ACL-08)`, () => {
      const verdict = judgeRule(rule, operation, target)
      assert.deepEqual([verdict.by, verdict.allowed], [by, allowed])
    })
  }

  it('that is absent grants nothing (ACL-08)', () => {
    assert.deepEqual(judgeRule(undefined, 'read', 'x'), { allowed: false, by: 'nothing', pattern: null })
  })

  it('with patterns and without operations grants nothing', () => {
    assert.equal(judgeRule({ patterns: ['*'] }, 'read', 'x').allowed, false)
  })
})

describe('the targets with a prefix', () => {
  const rule: Rule = {
    patterns: ['shared/*', 'notes', 'docs://', 'q?c/x'],
    operations: ['read'],
    excluded_patterns: ['shared/private/*', 'shared/old*', 'shared/some*thing'],
    allowed: ['always/here'],
    denied: ['shared/never/*', 'docs://hidden/*', 'shared/one'],
  }
  const cases: readonly (readonly [operation: string, prefix: string, isReached: boolean])[] = [
    ['read', '', true],
    ['read', 'sha', true],
    ['read', 'shared/', true],
    ['read', 'shared/deep/er/', true],
    ['read', 'shared2/', false],
    ['read', 'not', true],
    ['read', 'notes', true],
    ['read', 'notes/', false],
    ['read', 'docs://', true],
    ['read', 'docs://plans/', true],
    ['read', 'doc', true],
    ['read', 'dogs://', false],
    ['read', 'qbc/', true],
    ['read', 'always/', true],
    ['write', 'always/', true],
    ['read', 'always/there/', false],
    ['write', 'shared/', false],
    // Everything is denied.
    ['read', 'shared/never/', false],
    ['read', 'shared/never/ever/', false],
    ['read', 'docs://hidden/', false],
    ['read', 'shared/private/', false],
    ['read', 'shared/older/', false],
    ['read', 'shared/one/', false],
    ['read', 'shared/one/more', false],
    // Only a part is denied.
    ['read', 'shared/ol', true],
    ['read', 'shared/one', true],
    ['read', 'shared/onemore', true],
    ['read', 'shared/some', true],
  ]
  for (const [operation, prefix, isReached] of cases) {
    it(`may ${isReached ? 'include a grant' : 'include no grant'} to ${operation} for ${JSON.stringify(prefix)} (ACL-08)`, () => {
      assert.equal(reachesInto(rule, operation, prefix), isReached)
    })
  }

  it('include no grant without a rule, with a general denial, and with patterns without operations (ACL-08)', () => {
    assert.equal(reachesInto(undefined, 'read', ''), false)
    assert.equal(reachesInto({ allowed: ['*'], denied: ['*'] }, 'read', ''), false)
    assert.equal(reachesInto({ patterns: ['*'] }, 'read', ''), false)
  })

  it('include a grant wherever a target with the prefix is allowed (ACL-08)', () => {
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*', '?'), minLength: 1, maxLength: 5 })
    const patterns = fc.array(pattern, { maxLength: 2 })
    const target = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 5 })
    fc.assert(
      fc.property(patterns, patterns, patterns, patterns, target, fc.nat(5), (...given) => {
        const [granted, allowed, denied, excluded, name, length] = given
        const some: Rule = {
          patterns: granted,
          operations: ['read'],
          allowed,
          denied,
          excluded_patterns: excluded,
        }
        if (judgeRule(some, 'read', name).allowed) {
          assert.equal(reachesInto(some, 'read', name.slice(0, length)), true)
        }
      }),
      { numRuns: 2000 },
    )
  })
})

describe('the URI of a property as a resource', () => {
  const properties: Rule = { patterns: ['notes', 'café', 'all'], operations: ['read'] }
  const cases: readonly (readonly [resources: Rule | undefined, uri: string, category: string, by: string])[] = [
    [undefined, 'actingweb://properties/notes', 'properties', 'patterns'],
    [undefined, 'actingweb://properties/notes/items/100', 'properties', 'patterns'],
    [undefined, 'actingweb://properties/caf%C3%A9', 'properties', 'patterns'],
    [undefined, 'actingweb://properties/%61ll', 'properties', 'patterns'],
    [undefined, 'actingweb://properties/diary', 'properties', 'nothing'],
    [undefined, 'actingweb://properties/all', 'resources', 'nothing'],
    [undefined, 'actingweb://properties/notes/items/x', 'resources', 'nothing'],
    [undefined, 'actingweb://properties/', 'resources', 'nothing'],
    [undefined, 'actingweb://properties/%zz', 'resources', 'nothing'],
    [{ allowed: ['*'] }, 'actingweb://properties/diary', 'properties', 'nothing'],
    [{ allowed: ['*'] }, 'actingweb://properties/all', 'resources', 'allowed'],
    [{ denied: ['*'] }, 'actingweb://properties/notes', 'resources', 'denied'],
    [{ denied: ['actingweb://'] }, 'actingweb://properties/notes', 'resources', 'denied'],
    [{ denied: ['actingweb://properties/notes'] }, 'actingweb://properties/notes', 'resources', 'denied'],
    [{ denied: ['actingweb://properties/notes'] }, 'actingweb://properties/n%6Ftes', 'resources', 'denied'],
    [{ denied: ['actingweb://properties/notes'] }, 'actingweb://properties/notes/items/0', 'resources', 'denied'],
    [{ denied: ['actingweb://properties/n%6Ftes'] }, 'actingweb://properties/n%6Ftes', 'resources', 'denied'],
    [{ denied: ['actingweb://properties/café'] }, 'actingweb://properties/caf%C3%A9', 'resources', 'denied'],
    [{ denied: ['actingweb://properties/all'] }, 'actingweb://properties/%61ll', 'properties', 'patterns'],
    [
      { excluded_patterns: ['actingweb://properties/notes'] },
      'actingweb://properties/notes',
      'resources',
      'excluded_patterns',
    ],
    [
      { excluded_patterns: ['*'], allowed: ['actingweb://properties/notes'] },
      'actingweb://properties/notes',
      'properties',
      'patterns',
    ],
    [{ patterns: ['*'], operations: ['write'] }, 'actingweb://properties/notes', 'resources', 'operations'],
    [{ patterns: ['*'], operations: ['read'] }, 'actingweb://properties/notes', 'properties', 'patterns'],
    [{ patterns: ['notes://*'], operations: [] }, 'actingweb://properties/notes', 'properties', 'patterns'],
  ]
  for (const [resources, target, category, by] of cases) {
    it(`${target} is decided by ${by} of ${category} with ${resources === undefined ? 'no rule for resources' : `the resource rule ${JSON.stringify(resources)}`} (MCP-12)`, () => {
      const rules: EffectiveRules = { properties, ...(resources === undefined ? {} : { resources }) }
      const decision = decide(rules, { category: 'resources', operation: 'read', target })
      assert.deepEqual([decision.category, decision.by], [category, by])
      assert.equal(decision.allowed, by === 'patterns' || by === 'allowed')
    })
  }

  it('denotes a property only for the operation read (MCP-12)', () => {
    const target = 'actingweb://properties/notes'
    assert.deepEqual(
      decide({ properties }, { category: 'resources', operation: 'write', target }).category,
      'resources',
    )
  })

  it('has a reachable prefix wherever it may be read (MCP-12)', () => {
    const name = fc.constantFrom('notes', 'café', 'all', 'diary', 'a b')
    const pattern = fc.constantFrom(
      '*',
      'notes',
      'actingweb://',
      'actingweb://*',
      'actingweb://properties/*',
      'actingweb://properties/notes',
      'actingweb://properties/café',
      'actingweb://properties',
      'actingweb:*',
      '?cting*',
    )
    const rule = fc.record(
      {
        patterns: fc.array(pattern, { maxLength: 2 }),
        operations: fc.subarray(['read', 'write']),
        excluded_patterns: fc.array(pattern, { maxLength: 1 }),
        allowed: fc.array(pattern, { maxLength: 1 }),
        denied: fc.array(pattern, { maxLength: 1 }),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(rule, rule, name, (ofResources, ofProperties, each) => {
        const rules: EffectiveRules = { resources: ofResources, properties: ofProperties }
        const question = { category: 'resources', operation: 'read' } as const
        if (!decide(rules, { ...question, target: uriOf(each) }).allowed) return
        for (const target of ['actingweb://properties/', 'actingweb://'])
          assert.equal(mayReach(rules, { ...question, target }), true, target)
      }),
      { numRuns: 3000 },
    )
  })

  it('has no reachable prefix where everything is denied (MCP-12)', () => {
    const area = { category: 'resources', operation: 'read', target: 'actingweb://properties/' } as const
    for (const resources of [
      { denied: ['*'] },
      { denied: ['actingweb://properties/*'] },
      { denied: ['actingweb://'] },
      { excluded_patterns: ['actingweb://properties/*'] },
      { patterns: ['actingweb://*'], operations: ['write'] },
    ])
      assert.equal(mayReach({ properties, resources }, area), false, JSON.stringify(resources))
    assert.equal(mayReach({ properties, resources: { denied: ['actingweb://properties/notes'] } }, area), true)
    assert.equal(mayReach({ resources: {} }, area), false)
    assert.equal(mayReach({ properties }, { ...area, operation: 'write' }), false)
    assert.equal(mayReach({ properties }, { ...area, target: 'notes://' }), false)
  })
})

describe('an override', () => {
  const base = { properties: { patterns: ['*'], operations: ['read', 'write'], excluded_patterns: ['private/*'] } }

  it('merges its patterns and exclusions with those of the trust type (ACL-07)', () => {
    const merged = mergeRules(base, { properties: { patterns: ['trip'], excluded_patterns: ['diary'] } })
    assert.deepEqual(merged.properties, {
      patterns: ['*', 'trip'],
      operations: ['read', 'write'],
      excluded_patterns: ['private/*', 'diary'],
    })
  })

  it('removes no exclusion when it is empty (ACL-07)', () => {
    assert.deepEqual(mergeRules(base, { properties: {} }).properties, base.properties)
    assert.deepEqual(mergeRules(base, { properties: { excluded_patterns: [] } }).properties, base.properties)
  })

  it('replaces the grants and keeps the exclusions with "merge": false (CHOICE-18, CHOICE-71)', () => {
    const merged = mergeRules(base, { properties: { patterns: ['trip'], merge: false } })
    assert.deepEqual(merged.properties, {
      patterns: ['trip'],
      operations: ['read', 'write'],
      excluded_patterns: ['private/*'],
    })
  })

  it('cannot remove a denial of the trust type, even with "merge": false (ACL-07)', () => {
    const merged = mergeRules(
      { methods: { allowed: ['*'], denied: ['admin_*'] } },
      { methods: { allowed: ['x'], denied: [], merge: false } },
    )
    assert.deepEqual(merged.methods, { allowed: ['x'], denied: ['admin_*'] })
  })

  it('narrows the operations when it lists fewer', () => {
    assert.deepEqual(mergeRules(base, { properties: { operations: ['read'] } }).properties?.operations, ['read'])
  })

  it('adds a category that the trust type does not have', () => {
    assert.deepEqual(mergeRules(base, { prompts: { allowed: ['x'] } }).prompts, { allowed: ['x'] })
  })

  it('grants read for a plain list of properties', () => {
    assert.deepEqual(readOverride(known('{"properties":["a","b"],"methods":["m"]}')).rules, {
      properties: { patterns: ['a', 'b'], operations: ['read'] },
      methods: { allowed: ['m'] },
    })
  })

  for (const body of [
    '[]',
    '"x"',
    '{"properties":"x"}',
    '{"properties":{"patterns":"x"}}',
    '{"properties":{"patterns":[1]}}',
    '{"properties":{"patterns":[""]}}',
    '{"properties":{"merge":"no"}}',
    '{"methods":7}',
  ]) {
    it(`is rejected as ${body}`, () => {
      assert.throws(() => readOverride(known(body)), { code: 'bad_request' })
    })
  }

  it('ignores keys that name another trust type, actor or peer', () => {
    assert.deepEqual(readOverride(known('{"trust_type":"admin","peer_id":"x","actor_id":"y"}')), {
      rules: {},
      createdBy: null,
      notes: null,
    })
  })
})

describe('the built-in trust types', () => {
  const relationships = new Relationships(new TrustTypes([]), () => 0)
  const may = (
    type: string,
    category: 'properties' | 'methods' | 'actions' | 'resources',
    right: 'read' | 'write' | 'delete',
    target: string,
  ) => relationships.judge(type, null)({ category, right, target }).allowed

  const table: readonly (readonly [type: string, reads: string, writes: string, deletes: string])[] = [
    // The targets public/x, shared/x, x and private/x; 1 means allowed.
    ['associate', '1000', '0000', '0000'],
    ['viewer', '1100', '0000', '0000'],
    ['friend', '1110', '1110', '0000'],
    ['partner', '1111', '1111', '0000'],
    ['admin', '1111', '1111', '1111'],
    ['mcp_client', '1100', '0000', '0000'],
    ['unheard_of', '0000', '0000', '0000'],
  ]
  const targets = ['public/x', 'shared/x', 'x', 'private/x']
  for (const [type, ...expected] of table) {
    it(`let ${type} read, write and delete as the table of wire facts says (WIRE-PERM-01, R-PERM-04)`, () => {
      const found = (['read', 'write', 'delete'] as const).map((right) =>
        targets.map((target) => Number(may(type, 'properties', right, target))).join(''),
      )
      assert.deepEqual(found, expected)
    })
  }

  it('let a friend call methods and actions, except administrative ones (R-PERM-04)', () => {
    assert.deepEqual(
      ['get_x', 'delete_x', 'admin_x', 'system_x'].map((name) => may('friend', 'methods', 'write', name)),
      [true, false, false, false],
    )
    assert.equal(may('associate', 'actions', 'write', 'ping'), false)
    assert.equal(may('associate', 'methods', 'write', 'ping'), true)
  })

  it('have descriptions that match their grants (R-PERM-04)', () => {
    assert.deepEqual(
      new TrustTypes([]).all().map(({ name, description }) => [name, description]),
      [
        ['admin', 'Reads, changes and deletes all data, and manages the actor, its relationships and its services'],
        ['api_key', 'A program or device with a key. It may do what the key grants'],
        ['associate', 'Reads what is public, and calls methods such as get_*'],
        ['friend', 'Reads and changes what is not private, and calls methods and actions'],
        ['mcp_client', 'An AI assistant that acts for the owner'],
        ['partner', 'Reads and changes what is not internal, and calls methods and actions'],
        ['viewer', 'Reads what is public or shared, and calls methods such as get_*'],
      ],
    )
    // The claims of the descriptions, checked against the rules.
    assert.deepEqual(
      ['admin', 'associate', 'friend', 'partner', 'viewer'].map((type) => [
        may(type, 'properties', 'write', 'color'),
        may(type, 'properties', 'delete', 'color'),
        may(type, 'methods', 'write', 'get_weather'),
        may(type, 'actions', 'write', 'add_note'),
      ]),
      [
        [true, true, true, true],
        [false, false, true, false],
        [true, false, true, true],
        [true, false, true, true],
        [false, false, true, false],
      ],
    )
  })

  it('can be replaced by a type of the same name that the application registers', () => {
    const own = new TrustTypes([{ name: 'friend', display_name: 'F', description: '', permissions: {} }])
    assert.equal(
      new Relationships(own, () => 0).judge('friend', null)({ category: 'properties', right: 'read', target: 'x' })
        .allowed,
      false,
    )
    assert.equal(own.isBuiltIn('friend'), false)
    assert.equal(own.isBuiltIn('admin'), true)
  })
})

describe('the names in an override', () => {
  const of = (names: string[]): unknown => readOverride(known(JSON.stringify({ properties: names })))

  it('are limited to 1000 in each part', () => {
    const names = Array.from({ length: 1000 }, (_, index) => `name-${index}`)
    assert.ok(of(names))
    assert.throws(() => of([...names, 'one-more']), { code: 'bad_request' })
  })

  it('have 1 to 1024 characters', () => {
    assert.ok(of(['x'.repeat(1024)]))
    for (const name of ['', 'x'.repeat(1025)]) assert.throws(() => of([name]), { code: 'bad_request' })
  })
})

describe('a change of the grants of a peer', () => {
  const reads = (patterns: string[], excluded: string[] = []): Rules => ({
    properties: { patterns, operations: ['read'], excluded_patterns: excluded },
  })
  const cases: [what: string, before: Rules | null, after: Rules, granted: string[], revoked: string[]][] = [
    ['contains all grants the first time', null, reads(['a', 'b'], ['c']), ['a', 'b'], []],
    ['contains no unreadable grants the first time', null, { properties: { patterns: ['a'] } }, [], []],
    ['is empty for equal rules', reads(['a'], ['b']), reads(['a'], ['b']), [], []],
    ['contains an added pattern as a grant', reads(['a']), reads(['a', 'b']), ['b'], []],
    ['contains a removed pattern as a revocation', reads(['a', 'b']), reads(['a']), [], ['b']],
    ['contains an added exclusion as a revocation', reads(['*']), reads(['*'], ['b']), [], ['b']],
    ['contains a removed exclusion as a grant', reads(['*'], ['b']), reads(['*']), ['b'], []],
    [
      'revokes everything when the operation read is removed',
      reads(['a']),
      { properties: { patterns: ['a'], operations: ['write'] } },
      [],
      ['a'],
    ],
    ['revokes everything when the category is removed', reads(['a']), {}, [], ['a']],
  ]
  for (const [what, before, after, granted, revoked] of cases) {
    it(`${what} (R-PERM-05)`, () => {
      assert.deepEqual(changesOfGrants(before, after), {
        is_initial: before === null,
        granted_patterns: granted,
        revoked_patterns: revoked,
        has_revocations: revoked.length > 0,
      })
    })
  }

  it('revokes exactly the copies that were granted before and are no longer granted (R-PERM-05, ACL-06)', () => {
    assert.equal(isRevoked(reads(['a', 'b']), reads(['a']), 'b'), true)
    assert.equal(isRevoked(reads(['a', 'b']), reads(['a']), 'a'), false)
    assert.equal(isRevoked(reads(['a']), reads(['a', 'b']), 'b'), false)
    assert.equal(isRevoked(reads(['a']), reads(['a']), 'b'), false)
    assert.equal(isRevoked(reads(['*']), reads(['*'], ['b']), 'b'), true)
  })
})

describe('the reason of a decision by rules', () => {
  const rules: Rules = {
    properties: { patterns: ['notes/*'], operations: ['read'], excluded_patterns: ['notes/private'] },
    actions: { allowed: ['add_*'], denied: ['add_user'] },
  }
  const colleague = { name: 'colleague', display_name: 'C', description: '', permissions: rules }
  const judge = new Relationships(new TrustTypes([colleague]), () => 0).judge('colleague', null)
  const cases: [category: 'properties' | 'actions', right: 'read' | 'write', target: string, reason: string][] = [
    ['properties', 'read', 'notes/1', 'properties.patterns ("notes/*") of colleague allows it'],
    ['properties', 'write', 'notes/1', 'properties.operations ("notes/*") of colleague refuses it'],
    ['properties', 'read', 'notes/private', 'properties.excluded_patterns ("notes/private") of colleague refuses it'],
    ['properties', 'read', 'color', 'no rule of colleague grants it'],
    ['actions', 'write', 'add_note', 'actions.allowed ("add_*") of colleague allows it'],
    ['actions', 'write', 'add_user', 'actions.denied ("add_user") of colleague refuses it'],
  ]
  for (const [category, right, target, reason] of cases) {
    it(`to ${right} ${target} of ${category} is: ${reason}`, () => {
      assert.equal(judge({ category, right, target }).reason, reason)
    })
  }
})

describe('an explanation', () => {
  const facts = { holdsItems: false, isDeclared: true, needsApproval: false }
  const friend = new TrustTypes([]).find('friend')?.permissions ?? {}
  const ask = (text: string, override = {}, approved = true) => {
    const question = parseQuestion(text)
    assert.ok(question !== null)
    return explain(
      { approved, approvedUntil: null, relationship: 'friend', isClient: true, base: friend, override },
      question,
      facts,
    )
  }

  it('names the pattern of the trust type that grants', () => {
    assert.deepEqual(ask('read:notes/1'), {
      operation: 'read',
      category: 'properties',
      target: 'notes/1',
      allowed: true,
      because: '"*" in patterns of the trust type friend covers it',
      rule: { part: 'patterns', pattern: '*', source: 'trust_type' },
      to_change: 'add "notes/1" to properties.excluded_patterns in an override to deny it',
    })
  })

  it('names the exclusion of the trust type, and the override that allows the target nevertheless', () => {
    const { allowed, rule, to_change } = ask('read:private/diary')
    assert.deepEqual(
      [allowed, rule],
      [false, { part: 'excluded_patterns', pattern: 'private/*', source: 'trust_type' }],
    )
    assert.equal(to_change, 'add "private/diary" to properties.allowed in an override to allow it with every operation')
    for (const question of ['read:private/diary', 'delete:private/diary']) {
      assert.equal(ask(question, { properties: { allowed: ['private/diary'] } }).allowed, true, question)
    }
  })

  it('names the denied pattern of the trust type, which no override can remove', () => {
    const question = parseQuestion('read:notes')
    assert.ok(question !== null)
    const base = { properties: { patterns: ['*'], operations: ['read'], denied: ['notes'] } } as const
    const type = { approved: true, approvedUntil: null, relationship: 'friend', isClient: false, base }
    const denied = explain({ ...type, override: {} }, question, facts)
    assert.equal(
      denied.to_change,
      'give the peer another trust type: an override cannot remove a denied pattern of the type',
    )
    const override = { properties: { allowed: ['notes'], denied: [], merge: false } } as const
    assert.equal(explain({ ...type, override }, question, facts).allowed, false)
  })

  it('names the override when the override contains the pattern', () => {
    const { rule, because } = ask('read:diary', { properties: { excluded_patterns: ['diary'] } })
    assert.deepEqual(rule, { part: 'excluded_patterns', pattern: 'diary', source: 'override' })
    assert.equal(because, '"diary" in excluded_patterns of your override covers it')
  })

  it('says that an operation is not listed', () => {
    const { because, rule, to_change } = ask('delete:x')
    assert.equal(because, 'the trust type friend does not list delete for properties')
    assert.deepEqual(rule, { part: 'operations', pattern: '*', source: 'trust_type' })
    assert.equal(to_change, 'list delete in properties.operations of an override to allow it')
  })

  it('says that an override lists fewer operations', () => {
    const { because, rule } = ask('write:x', { properties: { operations: ['read'] } })
    assert.equal(because, 'your override does not list write for properties')
    assert.deepEqual(rule, { part: 'operations', pattern: '*', source: 'override' })
  })

  const ungranted: [question: string, toChange: string][] = [
    ['call:get_weather', 'add "get_weather" to methods.allowed in an override to allow it'],
    ['execute:add_note', 'add "add_note" to actions.allowed in an override to allow it'],
    ['use:add_note', 'add "add_note" to tools.allowed in an override to allow it'],
    ['invoke:sum_up', 'add "sum_up" to prompts.allowed in an override to allow it'],
    ['read:x', 'add "x" to properties.patterns and read to properties.operations in an override to allow it'],
    ['resources.read:x', 'add "x" to resources.patterns and read to resources.operations in an override to allow it'],
  ]
  for (const [text, toChange] of ungranted) {
    it(`says how to grant ${text} when no rule grants it`, () => {
      const question = parseQuestion(text)
      assert.ok(question !== null)
      const { allowed, to_change } = explain(
        { approved: true, approvedUntil: null, relationship: 'none', isClient: true, base: {}, override: null },
        question,
        facts,
      )
      assert.deepEqual([allowed, to_change], [false, toChange])
    })
  }

  it('says that a category with operations needs patterns', () => {
    const question = parseQuestion('use:add_note')
    assert.ok(question !== null)
    const base = { tools: { operations: ['use'] } }
    assert.equal(
      explain(
        { approved: true, approvedUntil: null, relationship: 'none', isClient: true, base, override: null },
        question,
        facts,
      ).to_change,
      'add "add_note" to tools.patterns and use to tools.operations in an override to allow it',
    )
  })

  it('says that nothing is allowed before the approval', () => {
    assert.equal(ask('read:x', {}, false).because, 'the relationship is not approved, so nothing is allowed')
  })

  it('finds the category by the operation or by its name', () => {
    assert.equal(parseQuestion('call:x')?.category, 'methods')
    assert.equal(parseQuestion('execute:x')?.category, 'actions')
    assert.equal(parseQuestion('use:x')?.category, 'tools')
    assert.equal(parseQuestion('invoke:x')?.category, 'prompts')
    assert.equal(parseQuestion('resources.read:x')?.category, 'resources')
    assert.equal(parseQuestion('subscribe:a:b')?.target, 'a:b')
  })

  for (const text of ['', 'x', 'fly:x', 'methods.read:x', ':x']) {
    it(`rejects the question ${JSON.stringify(text)}`, () => assert.equal(parseQuestion(text), null))
  }
})
