import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { deviceOf } from '../../src/token/device.ts'
import { judgeAccess, judgeRefresh, type RefreshState, refreshPolicy } from '../../src/token/judge-refresh.ts'
import { makeToken, recognizeToken } from '../../src/token/token-text.ts'

const now = 1_900_000_000_000
const policy = { graceMs: 60_000, maxGraceAnswers: 3, reuseWindowMs: 172_800_000 }

function state(of: Partial<RefreshState> = {}): RefreshState {
  return {
    expiresAt: now + 1_209_600_000,
    usedAt: null,
    graceAnswers: 0,
    isLegacy: false,
    chainEndsAt: now + 7_776_000_000,
    ...of,
  }
}

describe('the rules of tokens', () => {
  const expired = { answer: 'refuse', because: 'expired', revoke: 'nothing' }
  const reused = { answer: 'refuse', because: 'reused', revoke: 'chain' }
  const rows: readonly [rows: string, title: string, state: Partial<RefreshState>, verdict: object][] = [
    ['R-TOK-01', 'rotate an unused refresh token', {}, { answer: 'rotate', use: 'first' }],
    [
      'R-TOK-01',
      'rotate an unused refresh token at its expiry',
      { expiresAt: now },
      { answer: 'rotate', use: 'first' },
    ],
    ['R-TOK-01', 'reject an unused refresh token after its expiry', { expiresAt: now - 1 }, expired],
    [
      'R-TOK-02',
      'rotate a refresh token again that was just used',
      { usedAt: now },
      { answer: 'rotate', use: 'grace' },
    ],
    [
      'R-TOK-02',
      'rotate a refresh token again 60 s after its first use',
      { usedAt: now - 60_000 },
      { answer: 'rotate', use: 'grace' },
    ],
    [
      'R-TOK-02, ORF-07',
      'rotate a refresh token again whose first use is in the future, because a clock was set back',
      { usedAt: now + 120_000 },
      { answer: 'rotate', use: 'grace' },
    ],
    [
      'ORF-03',
      'rotate a refresh token again within grace, one response below the limit',
      { usedAt: now - 1000, graceAnswers: 2 },
      { answer: 'rotate', use: 'grace' },
    ],
    [
      'ORF-03',
      'reject a refresh token within grace at the limit of responses, and revoke nothing',
      { usedAt: now - 1000, graceAnswers: 3 },
      { answer: 'refuse', because: 'exhausted', revoke: 'nothing' },
    ],
    [
      'R-TOK-03',
      'treat a refresh token used 60.001 s ago as reused, and revoke the chain',
      { usedAt: now - 60_001 },
      reused,
    ],
    [
      'R-TOK-03',
      'treat a refresh token used two days ago as reused, and revoke the chain',
      { usedAt: now - 172_800_000 },
      reused,
    ],
    [
      'R-TOK-03',
      'treat a refresh token used after grace as reused, even when it has expired',
      { usedAt: now - 60_001, expiresAt: now - 1 },
      reused,
    ],
    [
      'R-TOK-04',
      'reject a refresh token used more than two days ago as expired',
      { usedAt: now - 172_800_001 },
      expired,
    ],
    [
      'R-TOK-05',
      'revoke only the reused refresh token when it has no chain',
      { isLegacy: true, usedAt: now - 60_001 },
      { answer: 'refuse', because: 'reused', revoke: 'token' },
    ],
    [
      'R-TOK-05',
      'rotate an unused refresh token without a chain',
      { isLegacy: true },
      { answer: 'rotate', use: 'first' },
    ],
    [
      'R-TOK-05',
      'rotate a refresh token without a chain again within grace',
      { isLegacy: true, usedAt: now - 60_000 },
      { answer: 'rotate', use: 'grace' },
    ],
    [
      'R-TOK-05',
      'reject a refresh token without a chain used more than two days ago as expired',
      { isLegacy: true, usedAt: now - 172_800_001 },
      expired,
    ],
    [
      'ORF-10',
      'rotate an unused refresh token at the end of its chain',
      { chainEndsAt: now },
      { answer: 'rotate', use: 'first' },
    ],
    ['ORF-10', 'reject an unused refresh token after the end of its chain', { chainEndsAt: now - 1 }, expired],
    [
      'ORF-10',
      'reject a refresh token within grace after the end of its chain',
      { usedAt: now, chainEndsAt: now - 1 },
      expired,
    ],
    [
      'ORF-10',
      'reject a reused refresh token after the end of its chain as expired',
      { usedAt: now - 60_001, chainEndsAt: now - 1 },
      expired,
    ],
  ]
  for (const [ids, title, of, verdict] of rows) {
    it(`${title} (${ids})`, () => {
      assert.deepEqual(judgeRefresh(state(of), now, policy), verdict)
    })
  }

  it('have a grace period of 60 s, a reuse window of two days and a hundred grace responses (R-TOK-02, R-TOK-03, ORF-03, R-LIM-01)', () => {
    assert.deepEqual(refreshPolicy, { graceMs: 60_000, maxGraceAnswers: 100, reuseWindowMs: 172_800_000 })
  })

  it('accept an access token until its expiry (R-TOK-01)', () => {
    assert.equal(judgeAccess({ expiresAt: now }, now), 'alive')
    assert.equal(judgeAccess({ expiresAt: now - 1 }, now), 'expired')
  })
})

describe('the string of a token', () => {
  it('has the form of its kind and never repeats (SEC-08)', () => {
    const forms = [
      ['session', 'access', /^[0-9a-f]{40}$/],
      ['session', 'refresh', /^[A-Za-z0-9_-]{64}$/],
      ['client', 'access', /^aw_[A-Za-z0-9_-]{43}$/],
      ['client', 'refresh', /^rt_[A-Za-z0-9_-]{43}$/],
    ] as const
    for (const [chain, kind, form] of forms) {
      const made = new Set(Array.from({ length: 2000 }, () => makeToken(chain, kind)))
      assert.equal(made.size, 2000)
      for (const text of made) {
        assert.match(text, form)
        assert.deepEqual(recognizeToken(text), { chain, kind })
      }
    }
  })

  it('is distinguished from the secrets of peers, which have the same form, and from tokens of providers (R-AUTH-02)', () => {
    const session = makeToken('session', 'access')
    const last = session.endsWith('0') ? '1' : '0'
    for (const text of [
      '',
      'x',
      '0f3c'.repeat(10),
      'a'.repeat(40),
      `${session.slice(0, -1)}${last}`,
      `${session} `,
      'A'.repeat(64),
      'aw_',
      'rt_short',
      `ac_${'A'.repeat(43)}`,
      `ya29.${'a'.repeat(60)}`,
      `gho_${'a'.repeat(36)}`,
    ]) {
      assert.equal(recognizeToken(text), null, text)
    }
  })
})

describe('the description of a device', () => {
  const agents: readonly [said: string | undefined, words: string][] = [
    ['Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0', 'Firefox on Linux'],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15',
      'Safari on macOS',
    ],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
      'Chrome on Windows',
    ],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0',
      'Edge on Windows',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
      'Safari on iPhone',
    ],
    [
      'Mozilla/5.0 (Linux; Android 14; SM-S921B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36',
      'Samsung Internet on Android',
    ],
    ['okhttp/4.12.0', 'an Android application'],
    ['MyApp/1 CFNetwork/1496.0.7 Darwin/23.5.0', 'an Apple application'],
    ['python-requests/2.32.3', 'a Python program'],
    ['curl/8.5.0', 'curl'],
    ['<script>alert(1)</script>', 'an unknown device'],
    ['', 'an unknown device'],
    [undefined, 'an unknown device'],
  ]
  for (const [said, words] of agents) {
    it(`is "${words}" for ${JSON.stringify(said?.slice(0, 60))}`, () => {
      assert.equal(deviceOf(said), words)
    })
  }

  it('depends only on the first 512 characters of the user agent', () => {
    assert.equal(deviceOf(`${'x'.repeat(503)} Firefox/`), 'Firefox')
    assert.equal(deviceOf(`${'x'.repeat(504)} Firefox/`), 'an unknown device')
  })

  it('is found quickly, however long the user agent is', () => {
    assert.equal(deviceOf(`${'Version/1 '.repeat(100_000)}Safari/1`), 'an unknown device')
  })
})
