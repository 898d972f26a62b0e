import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ConfigError } from '../../src/config/config.ts'
import { resolveConfig } from '../../src/features/config.ts'
import { sourceOf } from '../../src/http/edge/client-address.ts'
import { routes } from '../support/routes.ts'
import { Buckets } from '../../src/rate-limit/buckets.ts'
import { bucketStandingOf, take } from '../../src/rate-limit/gcra.ts'
import { defaultRates, ratesOf } from '../../src/rate-limit/rates.ts'

const ten = { count: 10, seconds: 60 }
const now = 1_900_000_000_000

describe('a rate limit bucket', () => {
  it('allows the limit at once, and one more request after each part of the period', () => {
    let emptyAt = 0
    const passes = (at: number): boolean => {
      const taken = take(emptyAt, at, ten)
      emptyAt = taken.emptyAt
      return taken.isAllowed
    }
    assert.equal(Array.from({ length: 50 }, () => passes(now)).filter(Boolean).length, 10)
    assert.equal(passes(now + 5900), false)
    assert.equal(passes(now + 6000), true)
    assert.equal(passes(now + 6000), false)
    assert.equal(Array.from({ length: 50 }, () => passes(now + 200_000)).filter(Boolean).length, 10)
  })

  it('reports what remains, when it is full again, and when to retry', () => {
    assert.deepEqual(bucketStandingOf(0, now, ten), { remaining: 10, resetSeconds: 0, retryAfterSeconds: 1 })
    assert.deepEqual(bucketStandingOf(now + 18_000, now, ten), { remaining: 7, resetSeconds: 18, retryAfterSeconds: 1 })
    assert.deepEqual(bucketStandingOf(now + 60_000, now, ten), { remaining: 0, resetSeconds: 60, retryAfterSeconds: 6 })
  })

  it('takes the requested number or nothing, and reports when that number is available', () => {
    assert.deepEqual(take(0, now, ten, 4), { isAllowed: true, emptyAt: now + 24_000 })
    assert.deepEqual(take(now + 24_000, now, ten, 7), { isAllowed: false, emptyAt: now + 24_000 })
    assert.deepEqual(take(now + 24_000, now, ten, 6), { isAllowed: true, emptyAt: now + 60_000 })
    assert.deepEqual(bucketStandingOf(now + 24_000, now, ten, 9), {
      remaining: 6,
      resetSeconds: 24,
      retryAfterSeconds: 18,
    })
  })

  it('allows exactly the limit when the clocks of the processes differ slightly', () => {
    let emptyAt = 0
    let passed = 0
    for (let index = 0; index < 30; index++) {
      const taken = take(emptyAt, now - (index % 3) * 20, ten)
      emptyAt = taken.emptyAt
      if (taken.isAllowed) passed += 1
    }
    assert.equal(passed, 10)
  })

  it('is exhausted, and only that, after the clock was set back', () => {
    const afterJump = take(now + 3_600_000, now, ten)
    assert.deepEqual(afterJump, { isAllowed: false, emptyAt: now + 60_050 })
  })

  it('never allows more than the count at once, whatever the rate', () => {
    const anyRate = fc.record({ count: fc.integer({ min: 1, max: 500 }), seconds: fc.integer({ min: 1, max: 86_400 }) })
    fc.assert(
      fc.property(anyRate, (rate) => {
        let emptyAt = 0
        let passed = 0
        for (let index = 0; index < rate.count + 5; index++) {
          const taken = take(emptyAt, now, rate)
          emptyAt = taken.emptyAt
          if (taken.isAllowed) passed += 1
        }
        assert.equal(passed, rate.count)
      }),
    )
  })

  it('is stored for a limited number of sources, and recently exhausted ones are kept longest', () => {
    const buckets = new Buckets(100)
    buckets.take('old', now, ten)
    for (let index = 0; index < 98; index++) buckets.take(`empty ${index}`, now, ten)
    for (let index = 0; index < 50; index++) buckets.take(`late ${index}`, now + 30_000, ten)
    assert.ok(buckets.size <= 100)
    assert.ok(buckets.emptyAt('late 49') > 0)
    assert.equal(buckets.emptyAt('old'), 0)
  })
})

describe('the rate limit source of a request', () => {
  const from = (remoteAddress: string | null, forwarded?: string, proxies = 0): string | null =>
    sourceOf({ remoteAddress, header: (name) => (name === 'x-forwarded-for' ? forwarded : undefined) }, proxies)

  it('is the same for a /64 of IPv6 and for every spelling of an address (RATE-02)', () => {
    for (const same of [
      '2001:db8:1:2::1',
      '2001:db8:1:2:ffff:ffff:ffff:ffff',
      '2001:0DB8:0001:0002::9',
      '2001:db8:1:2:0:0:0:1',
    ]) {
      assert.equal(from(same), '2001:db8:1:2::/64', same)
    }
    assert.equal(from('2001:db8:1:3::1'), '2001:db8:1:3::/64')
    for (const same of ['192.0.2.7', '::ffff:192.0.2.7', '::ffff:c000:207', '0:0:0:0:0:FFFF:192.0.2.7']) {
      assert.equal(from(same), '192.0.2.7', same)
    }
    assert.equal(from('fe80::1%eth0'), 'fe80::/64')
  })

  it('is the address of the connection when no proxy is configured, whatever the request contains (RATE-02)', () => {
    assert.equal(from('192.0.2.7', '198.51.100.1'), '192.0.2.7')
    assert.equal(from(null, '198.51.100.1'), null)
  })

  it('is the entry of the first configured proxy, to the right of any forged entries (RATE-02)', () => {
    assert.equal(from('10.0.0.2', '198.51.100.1', 1), '198.51.100.1')
    assert.equal(from('10.0.0.2', '6.6.6.6, 7.7.7.7,198.51.100.1', 1), '198.51.100.1')
    assert.equal(from('10.0.0.3', '6.6.6.6, 198.51.100.1, 10.0.0.2', 2), '198.51.100.1')
    assert.equal(from('10.0.0.2', '6.6.6.6, [2001:db8:1:2::1]:4711', 1), '2001:db8:1:2::/64')
    assert.equal(from('10.0.0.2', '6.6.6.6, 198.51.100.1:4711', 1), '198.51.100.1')
  })

  it('is the address of the connection when the entries of the proxies are missing or not addresses (RATE-02)', () => {
    assert.equal(from('203.0.113.9', '6.6.6.6', 2), '203.0.113.9')
    assert.equal(from('203.0.113.9', undefined, 1), '203.0.113.9')
    for (const text of ['unknown', '6.6.6.6, unknown', '6.6.6.6,', '1.2.3', '0x7f000001', '017700000001']) {
      assert.equal(from('203.0.113.9', text, 1), '203.0.113.9', text)
    }
  })
})

describe('the table of limiters', () => {
  it('contains the limiters of every costly or guessable route (RATE-03, RATE-04)', () => {
    const limits = Object.fromEntries(
      routes.filter(({ limit }) => limit !== undefined).map(({ id, limit }) => [id, limit]),
    )
    const signIn = ['sign_in/source', 'sign_in/total']
    const verification = [
      'email_verification/pair',
      'email_verification/source',
      'email_verification/target',
      'email_verification/total',
    ]
    const expected = {
      createActor: ['create_actor/source', 'create_actor/total'],
      receiveTrust: ['trust_request/pair', 'trust_request/source', 'trust_request/target', 'trust_request/total'],
      beginSignIn: signIn,
      signInCallback: signIn,
      signInFormCallback: signIn,
      signInAtHost: signIn,
      claimActor: signIn,
      passkeyPage: signIn,
      passkeyForm: signIn,
      emailLinkPage: signIn,
      emailLinkForm: signIn,
      spaAuthorize: signIn,
      sharedServiceCallback: signIn,
      spaToken: ['token/source', 'token/total'],
      exchangeSpaSession: ['ticket/source', 'ticket/total'],
      askEmail: ['email_verification/source', 'email_verification/total'],
      verifyEmail: verification,
      followEmail: verification,
    }
    for (const [id, keys] of Object.entries(expected)) assert.deepEqual(limits[id], keys, id)
  })

  it('has no limiter that is off in production, and allows a hundred times as much in development', () => {
    const production = ratesOf({ mode: 'production', rateLimits: {} })
    const development = ratesOf({ mode: 'development', rateLimits: {} })
    assert.deepEqual(production['passphrase/pair'], { count: 10, seconds: 300 })
    assert.deepEqual(development['passphrase/pair'], { count: 1000, seconds: 300 })
    for (const [key, rate] of Object.entries(production)) assert.notEqual(rate, null, key)
    assert.deepEqual(Object.keys(production), Object.keys(defaultRates))
  })

  it('can be changed by code and by the environment, for one limiter or for all', () => {
    const read = (text: string): ReturnType<typeof ratesOf> =>
      ratesOf(resolveConfig({ mode: 'development' }, { TROUPE_RATE_LIMITS: text }))
    const one = read('create_actor/source=5/60, token/total=off')
    assert.deepEqual(one['create_actor/source'], { count: 5, seconds: 60 })
    assert.equal(one['token/total'], null)
    assert.deepEqual(one['token/source'], { count: 12_000, seconds: 60 })
    const all = read('*=off,create_actor/source=5/60')
    assert.deepEqual(
      Object.entries(all).filter(([, rate]) => rate !== null),
      [['create_actor/source', { count: 5, seconds: 60 }]],
    )
  })

  for (const text of [
    'create_actor/source',
    'create_actor/source=0/60',
    'create_actor/source=1/0',
    'a=1/2/3',
    'x=on',
  ]) {
    it(`rejects ${JSON.stringify(text)} with one sentence that names the setting`, () => {
      assert.throws(
        () => resolveConfig({ mode: 'development' }, { TROUPE_RATE_LIMITS: text }),
        (error) => error instanceof ConfigError && error.message.startsWith('TROUPE_RATE_LIMITS must be `<limiter>='),
      )
    })
  }

  it('rejects a limiter that does not exist', () => {
    assert.throws(() => ratesOf({ mode: 'production', rateLimits: { 'sign_out/source': null } }), {
      name: 'ConfigError',
      message: 'Cannot use TROUPE_RATE_LIMITS: the limiter sign_out/source does not exist.',
    })
  })
})

describe('the default limits', () => {
  it('leave others at least half of a target that one sender requests (RATE-06)', () => {
    const rates: Readonly<Record<string, { readonly count: number; readonly seconds: number }>> = defaultRates
    const targets = Object.keys(rates).filter((key) => key.endsWith('/target'))
    assert.ok(targets.length > 5)
    for (const key of targets) {
      const [target, pair] = [rates[key], rates[key.replace('/target', '/pair')]]
      assert.ok(target !== undefined && pair !== undefined, `${key} has no limit for a sender at a target`)
      assert.ok(pair.count * 2 <= target.count, `${key}: one sender takes more than half at once`)
      assert.ok(
        (pair.count / pair.seconds) * 2 <= target.count / target.seconds,
        `${key}: one sender takes more than half of what comes back`,
      )
    }
  })

  it('apply for a sender at a target at every route that has one for the target (RATE-06)', () => {
    for (const { id, limit = [] } of routes)
      for (const key of limit)
        if (key.endsWith('/target'))
          assert.ok((limit as readonly string[]).includes(key.replace('/target', '/pair')), `${id}: ${key}`)
  })
})
