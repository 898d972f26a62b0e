import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Attempted,
  backoffMs,
  circuitAfter,
  type DeliveryPolicy,
  judgeCircuit,
  judgeDelivery,
  judgeNotice,
  parseRetryAfter,
} from '../../src/outbox/policy.ts'
import type { PeerOutcome } from '../../src/peer/peer-client.ts'

const now = 1_900_000_000_000
const policy: DeliveryPolicy = {
  retryUnknown: true,
  circuitThreshold: 5,
  circuitCooldownMs: 60_000,
  giveUpAfterMs: 86_400_000,
}
const answered = (status: number, headers: Record<string, string> = {}, body = ''): PeerOutcome => ({
  kind: 'answered',
  status,
  headers,
  body,
})
const unreached: PeerOutcome = { kind: 'unreached', reason: 'refused' }
const unknown: PeerOutcome = { kind: 'unknown', reason: 'cut' }
const attempted = (outcome: PeerOutcome, more: Partial<Attempted> = {}): Attempted => ({
  outcome,
  now,
  attempts: 0,
  uncertain: 0,
  failingSince: null,
  random: 0.5,
  ...more,
})

describe('a delivery attempt (SUB-07)', () => {
  const cases: readonly (readonly [what: string, given: Attempted, then: string, at?: number])[] = [
    ['200', attempted(answered(200)), 'delivered'],
    ['204', attempted(answered(204)), 'delivered'],
    ['202', attempted(answered(202)), 'delivered'],
    ['301', attempted(answered(301)), 'failed'],
    ['400', attempted(answered(400)), 'failed'],
    ['401', attempted(answered(401)), 'failed'],
    ['403', attempted(answered(403)), 'failed'],
    ['404', attempted(answered(404)), 'failed'],
    ['410', attempted(answered(410)), 'stop'],
    ['404 with an error of the peer', attempted(answered(404, {}, '{"error":"not_found"}')), 'failed'],
    ['404 with the page of an ingress', attempted(answered(404, {}, '<h1>404</h1>')), 'retry', now + 500],
    ['401 with the page of a sign-in', attempted(answered(401, {}, 'Unauthorized')), 'retry', now + 500],
    ['403 with the page of a firewall', attempted(answered(403, {}, '<h1>Forbidden</h1>')), 'retry', now + 500],
    ['403 with an error of the peer', attempted(answered(403, {}, '{"error":"forbidden"}')), 'failed'],
    ['410 with the page of an ingress', attempted(answered(410, {}, 'Gone')), 'retry', now + 500],
    ['413 with the page of an ingress', attempted(answered(413, {}, '<h1>413</h1>')), 'failed'],
    ['308 at first', attempted(answered(308)), 'retry', now + 500],
    ['308 after many attempts', attempted(answered(308), { attempts: 30 }), 'retry', now + 1_800_000],
    ['413', attempted(answered(413)), 'failed'],
    ['429', attempted(answered(429)), 'retry', now + 500],
    ['503', attempted(answered(503)), 'retry', now + 500],
    ['429 with Retry-After', attempted(answered(429, { 'retry-after': '7' })), 'retry', now + 7000],
    ['503 with a Retry-After below the wait', attempted(answered(503, { 'retry-after': '0' })), 'retry', now + 500],
    [
      '503 with a Retry-After of a century',
      attempted(answered(503, { 'retry-after': '3155760000' })),
      'retry',
      now + 3_600_000,
    ],
    ['500, once', attempted(answered(500)), 'retry', now + 500],
    ['500, again', attempted(answered(500), { attempts: 1, uncertain: 1 }), 'failed'],
    ['a refused connection', attempted(unreached), 'retry', now + 500],
    ['the tenth refused connection', attempted(unreached, { attempts: 9 }), 'retry', now + 30_000],
    ['a cut connection, once', attempted(unknown), 'retry', now + 500],
    ['a cut connection after refused ones', attempted(unknown, { attempts: 3 }), 'retry', now + 4000],
    ['a cut connection, again', attempted(unknown, { attempts: 1, uncertain: 1 }), 'failed'],
    [
      'a refused connection for less than the limit',
      attempted(unreached, { failingSince: now - 86_399_999 }),
      'retry',
      now + 500,
    ],
    ['a refused connection for too long', attempted(unreached, { failingSince: now - 86_400_000 }), 'stop'],
  ]
  for (const [what, given, then, at] of cases) {
    it(`is judged “${then}” after ${what}`, () => {
      const verdict = judgeDelivery(given, policy)
      assert.equal(verdict.kind, then)
      if (verdict.kind === 'retry') assert.equal(verdict.at, at)
    })
  }

  it('fails after an unknown outcome when retries are off', () => {
    const strict = { ...policy, retryUnknown: false }
    assert.equal(judgeDelivery(attempted(unknown), strict).kind, 'failed')
    assert.equal(judgeDelivery(attempted(answered(502)), strict).kind, 'failed')
    assert.equal(judgeDelivery(attempted(unreached), strict).kind, 'retry')
  })

  it('of a notice is retried after unknown outcomes until the peer answers or the time limit is over', () => {
    assert.equal(judgeNotice(attempted(unknown, { attempts: 9, uncertain: 9 }), policy).kind, 'retry')
    assert.equal(judgeNotice(attempted(answered(500), { attempts: 9, uncertain: 9 }), policy).kind, 'retry')
    assert.equal(judgeNotice(attempted(answered(204)), policy).kind, 'delivered')
    assert.equal(judgeNotice(attempted(answered(403)), policy).kind, 'failed')
    assert.equal(judgeNotice(attempted(answered(410)), policy).kind, 'failed')
    for (const ofIngress of [answered(302), answered(404, {}, 'no such host'), answered(410, {}, '<p>Gone</p>')])
      assert.equal(judgeNotice(attempted(ofIngress), policy).kind, 'retry')
    assert.equal(judgeNotice(attempted(unreached, { failingSince: now - 86_400_000 }), policy).kind, 'stop')
  })

  it('is retried after a random time below a limit that doubles up to one minute', () => {
    assert.deepEqual(
      [0, 1, 2, 3, 5, 6, 50].map((attempts) => backoffMs(attempts, 1)),
      [1000, 2000, 4000, 8000, 32_000, 60_000, 60_000],
    )
    assert.equal(backoffMs(3, 0), 0)
    assert.equal(backoffMs(3, 0.25), 2000)
  })
})

describe('the Retry-After header (SUB-06)', () => {
  const cases: readonly (readonly [text: string | undefined, ms: number | null])[] = [
    [undefined, null],
    ['', null],
    ['0', 0],
    ['120', 120_000],
    ['3600', 3_600_000],
    ['99999999999999999999', 3_600_000],
    ['-5', null],
    ['1.5', null],
    ['soon', null],
    [new Date(now + 30_000).toUTCString(), 30_000],
    [new Date(now - 30_000).toUTCString(), 0],
    [new Date(now + 90_000_000).toUTCString(), 3_600_000],
    ['Mon, 99 Foo 2031 00:00:00 GMT', null],
  ]
  for (const [text, ms] of cases) {
    it(`${JSON.stringify(text)} is read as ${ms === null ? 'absent' : `${ms} ms`}`, () => {
      assert.equal(parseRetryAfter(text, now), ms)
    })
  }
})

describe('the circuit breaker of a peer (SUB-06)', () => {
  const failing = (failures: number, openUntil: number | null = null) => ({ failures, openUntil })

  it('opens with the fifth failure in a row, for one minute', () => {
    let circuit = failing(0)
    for (let failure = 1; failure <= 4; failure++) {
      circuit = circuitAfter(circuit, unreached, now, policy)
      assert.deepEqual(circuit, { failures: failure, openUntil: null })
    }
    assert.deepEqual(circuitAfter(circuit, unreached, now, policy), { failures: 5, openUntil: now + 60_000 })
  })

  it('stays open as long as the peer requests, when that is longer', () => {
    const busy = answered(503, { 'retry-after': '120' })
    assert.deepEqual(circuitAfter(failing(4), busy, now, policy), { failures: 5, openUntil: now + 120_000 })
  })

  it('resets its failure count after a success or a client error', () => {
    for (const status of [200, 204, 400, 403, 404, 410]) {
      assert.deepEqual(circuitAfter(failing(4), answered(status), now, policy), { failures: 0, openUntil: null })
    }
  })

  it('counts 429, 5xx, redirects and unknown outcomes as failures', () => {
    const page = answered(404, {}, '<h1>404</h1>')
    for (const outcome of [answered(429), answered(500), answered(503), answered(302), page, unknown]) {
      assert.equal(circuitAfter(failing(1), outcome, now, policy).failures, 2)
    }
  })

  it('allows one attempt after its open time, which closes it or opens it again', () => {
    assert.equal(judgeCircuit(failing(5, now + 1), now, policy), 'open')
    assert.equal(judgeCircuit(failing(5, now), now, policy), 'probe')
    assert.equal(judgeCircuit(failing(4), now, policy), 'closed')
    assert.deepEqual(circuitAfter(failing(5, now), answered(204), now, policy), { failures: 0, openUntil: null })
    assert.deepEqual(circuitAfter(failing(5, now), unknown, now, policy), { failures: 6, openUntil: now + 60_000 })
  })
})
