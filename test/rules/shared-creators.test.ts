import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decideCreators, type RivalActor } from '../../src/actingweb-import/shared-creators.ts'

const actor = (
  id: string,
  account: RivalActor['account'],
  createdAt: number,
  creator = 'ada@example.com',
): RivalActor => ({
  id,
  creator,
  createdAt,
  account,
})

const decide = (rivals: readonly RivalActor[], choices: ReadonlyMap<string, string> = new Map()) =>
  decideCreators(rivals, choices).map(({ creator, actors, decidedBy }) => [
    creator,
    ...actors.map(({ id }) => id),
    decidedBy,
  ])

describe('the sign-in of a creator with several actors', () => {
  const cases: readonly (readonly [string, readonly RivalActor[], readonly string[]])[] = [
    ['an account before an older actor', [actor('a', 'none', 1), actor('b', 'verified', 2)], ['b', 'a', 'account']],
    [
      'an account before an actor without a date',
      [actor('a', 'none', 0), actor('b', 'verified', 2)],
      ['b', 'a', 'account'],
    ],
    [
      'a verified account before an older other one',
      [actor('a', 'unverified', 1), actor('b', 'verified', 2)],
      ['b', 'a', 'account'],
    ],
    ['an unverified account before none', [actor('a', 'none', 1), actor('b', 'unverified', 2)], ['b', 'a', 'account']],
    ['the oldest of two accounts', [actor('a', 'verified', 2), actor('b', 'verified', 1)], ['b', 'a', 'age']],
    ['a date before none', [actor('a', 'verified', 0), actor('b', 'verified', 9)], ['b', 'a', 'age']],
    ['the oldest of two without an account', [actor('a', 'none', 2), actor('b', 'none', 1)], ['b', 'a', 'age']],
    ['the first id of two of the same age', [actor('b', 'none', 1), actor('a', 'none', 1)], ['a', 'b', 'age']],
  ]
  for (const [what, rivals, expected] of cases) {
    it(`prefers ${what} (SEC-12)`, () => {
      assert.deepEqual(decide(rivals), [['ada@example.com', ...expected]])
      assert.deepEqual(
        decide(rivals.toReversed()).map(([, ...rest]) => rest),
        [[...expected]],
      )
    })
  }

  it('follows the choice of the operator, in any case of the letters (SEC-12)', () => {
    const rivals = [actor('a', 'verified', 1), actor('b', 'none', 2, 'Ada@Example.com')]
    assert.deepEqual(decide(rivals, new Map([['ada@example.com', 'b']])), [['Ada@Example.com', 'b', 'a', 'choice']])
  })

  it('refuses a choice for a creator with one actor, and an actor of another creator (SEC-12)', () => {
    const rivals = [
      actor('a', 'none', 1),
      actor('b', 'none', 2),
      actor('c', 'none', 1, '__proto__'),
      actor('d', 'none', 2, '__proto__'),
    ]
    for (const [creator, id] of [
      ['bob@example.com', 'a'],
      ['ada@example.com', 'c'],
      ['__proto__', 'a'],
      ['constructor', 'a'],
    ] as const)
      assert.throws(() => decide(rivals, new Map([[creator, id]])), { code: 'bad_request' }, creator)
  })

  it('reports guesses first (SEC-12)', () => {
    const rivals = [
      actor('a', 'verified', 1),
      actor('b', 'none', 2),
      actor('c', 'none', 1, 'zoe@example.com'),
      actor('d', 'none', 2, 'zoe@example.com'),
    ]
    assert.deepEqual(
      decide(rivals).map(([creator]) => creator),
      ['zoe@example.com', 'ada@example.com'],
    )
  })
})
