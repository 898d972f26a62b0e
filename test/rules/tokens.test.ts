import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { deviceOf } from '../../src/token/device.ts'
import { judgeAccess, judgeRefresh, type RefreshState, refreshPolicy } from '../../src/token/judge-refresh.ts'
import { makeToken, recogniseToken } from '../../src/token/token-text.ts'

const now = 1_900_000_000_000
const policy = { graceMs: 60_000, mostGraceAnswers: 3, reuseWindowMs: 172_800_000 }

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

describe('what presenting a refresh token leads to', () => {
  const expired = { answer: 'refuse', because: 'expired', revoke: 'nothing' }
  const reused = { answer: 'refuse', because: 'reused', revoke: 'chain' }
  const rows: readonly [rows: string, title: string, state: Partial<RefreshState>, verdict: object][] = [
    ['R-TOK-01', 'unused and alive: a rotation', {}, { answer: 'rotate', use: 'first' }],
    ['R-TOK-01', 'unused in its last moment: a rotation', { expiresAt: now }, { answer: 'rotate', use: 'first' }],
    ['R-TOK-01', 'unused after its last moment: expired', { expiresAt: now - 1 }, expired],
    ['R-TOK-02', 'used a moment ago: a rotation again', { usedAt: now }, { answer: 'rotate', use: 'grace' }],
    ['R-TOK-02', 'used 60 s ago: a rotation again', { usedAt: now - 60_000 }, { answer: 'rotate', use: 'grace' }],
    [
      'R-TOK-02 ORF-07',
      'used in what is the future by a clock that was set back: a rotation again',
      { usedAt: now + 120_000 },
      { answer: 'rotate', use: 'grace' },
    ],
    [
      'ORF-03',
      'within grace, one answer short of the cap: a rotation again',
      { usedAt: now - 1000, graceAnswers: 2 },
      { answer: 'rotate', use: 'grace' },
    ],
    [
      'ORF-03',
      'within grace, as often as the cap allows: refused, nothing revoked',
      { usedAt: now - 1000, graceAnswers: 3 },
      { answer: 'refuse', because: 'exhausted', revoke: 'nothing' },
    ],
    ['R-TOK-03', 'used 60.001 s ago: reuse, the chain is revoked', { usedAt: now - 60_001 }, reused],
    ['R-TOK-03', 'used two days ago: reuse, the chain is revoked', { usedAt: now - 172_800_000 }, reused],
    [
      'R-TOK-03',
      'used after grace though its own lifetime is over: reuse all the same',
      { usedAt: now - 60_001, expiresAt: now - 1 },
      reused,
    ],
    ['R-TOK-04', 'used two days and a moment ago: expired', { usedAt: now - 172_800_001 }, expired],
    [
      'R-TOK-05',
      'without a family, used after grace: that token alone is revoked',
      { isLegacy: true, usedAt: now - 60_001 },
      { answer: 'refuse', because: 'reused', revoke: 'token' },
    ],
    ['R-TOK-05', 'without a family, unused: a rotation', { isLegacy: true }, { answer: 'rotate', use: 'first' }],
    [
      'R-TOK-05',
      'without a family, used within grace: a rotation again',
      { isLegacy: true, usedAt: now - 60_000 },
      { answer: 'rotate', use: 'grace' },
    ],
    [
      'R-TOK-05',
      'without a family, used two days and a moment ago: expired',
      { isLegacy: true, usedAt: now - 172_800_001 },
      expired,
    ],
    [
      'ORF-10',
      'unused in the last moment of its chain: a rotation',
      { chainEndsAt: now },
      { answer: 'rotate', use: 'first' },
    ],
    ['ORF-10', 'unused after the end of its chain: expired', { chainEndsAt: now - 1 }, expired],
    ['ORF-10', 'within grace after the end of its chain: expired', { usedAt: now, chainEndsAt: now - 1 }, expired],
    ['ORF-10', 'reused after the end of its chain: expired', { usedAt: now - 60_001, chainEndsAt: now - 1 }, expired],
  ]
  for (const [ids, title, of, verdict] of rows) {
    it(`${ids} ${title}`, () => {
      assert.deepEqual(judgeRefresh(state(of), now, policy), verdict)
    })
  }

  it('R-TOK-02 R-TOK-03 ORF-03 is a grace of 60 s, a memory of two days and a hundred answers', () => {
    assert.deepEqual(refreshPolicy, { graceMs: 60_000, mostGraceAnswers: 100, reuseWindowMs: 172_800_000 })
  })

  it('R-TOK-01 an access token lives until its last moment', () => {
    assert.equal(judgeAccess({ expiresAt: now }, now), 'alive')
    assert.equal(judgeAccess({ expiresAt: now - 1 }, now), 'expired')
  })
})

describe('the text of a token', () => {
  it('SEC-08 has the form of its kind, and never comes twice', () => {
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
        assert.deepEqual(recogniseToken(text), { chain, kind })
      }
    }
  })

  it('R-AUTH-02 tells tokens of ours from the secrets of peers, which have the same form, and from tokens of providers', () => {
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
      assert.equal(recogniseToken(text), null, text)
    }
  })
})

describe('a device in words', () => {
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

  it('is told by the first 512 characters, and by nothing after them', () => {
    assert.equal(deviceOf(`${'x'.repeat(503)} Firefox/`), 'Firefox')
    assert.equal(deviceOf(`${'x'.repeat(504)} Firefox/`), 'an unknown device')
  })

  it('is found quickly, however long the text', () => {
    assert.equal(deviceOf(`${'Version/1 '.repeat(100_000)}Safari/1`), 'an unknown device')
  })
})
