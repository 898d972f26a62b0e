import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { judgeOwner } from '../../src/permission/owner.ts'
import type { Caller } from '../../src/caller.ts'
import { hashSecret } from '../../src/secret/hash.ts'
import type { Sealed } from '../../src/secret/sealed.ts'
import { idAt, parseBaseuri, trustUrl } from '../../src/trust/baseuri.ts'
import { type AskedAgain, completedBy, judgeRequest } from '../../src/trust/handshake/judge-request.ts'
import { judgeOffer } from '../../src/trust/handshake/renewal.ts'
import { parseRelationship } from '../../src/trust/relationship-name.ts'
import type { OwnRequest, Trust } from '../../src/trust/trust.ts'

const now = 1_000_000

function trust(change: Partial<Trust> = {}): Trust {
  return {
    actorId: 'm',
    peerId: 'p',
    baseuri: 'https://peer.example.com/p',
    type: 'urn:x',
    relationship: 'friend',
    secret: 'sealed' as Sealed,
    secretHash: hashSecret('a'),
    verificationToken: 'sealed' as Sealed,
    description: '',
    approved: true,
    peerApproved: true,
    verified: true,
    establishedVia: 'trust',
    facts: {},
    createdAt: 0,
    lastAccessed: 0,
    lastConnectedVia: 'trust',
    ownRequest: null,
    ...change,
  }
}

function asked(change: Partial<AskedAgain> = {}): AskedAgain {
  return {
    actorId: 'm',
    peerId: 'p',
    baseuri: 'https://peer.example.com/p',
    relationship: 'friend',
    settlesById: true,
    crossed: false,
    verified: true,
    ...change,
  }
}

const asking: OwnRequest = { id: 'r', relationship: 'friend', until: now + 1, nextSecretHash: null }

describe('what a request of a peer leads to', () => {
  const kinds: readonly [what: string, existing: Trust | null, request: AskedAgain, kind: string][] = [
    ['a new relationship, where there is none', null, asked(), 'add'],
    ['a new relationship, verified or not', null, asked({ verified: false }), 'add'],
    ['a renewal, when the peer proves itself', trust(), asked(), 'rotate'],
    ['a renewal of one that waits', trust({ approved: false }), asked(), 'rotate'],
    ['a refusal, without proof', trust(), asked({ verified: false }), 'refuse'],
    ['a refusal, without proof, of one that waits', trust({ approved: false }), asked({ verified: false }), 'refuse'],
    ['a refusal, from another address', trust(), asked({ baseuri: 'https://peer.example.com/q/p' }), 'refuse'],
    ['a refusal, of other rights than those approved', trust(), asked({ relationship: 'admin' }), 'refuse'],
    ['a new name, while nobody approved', trust({ approved: false }), asked({ relationship: 'x' }), 'replace'],
    [
      'a refusal, of a new name without proof',
      trust({ approved: false }),
      asked({ relationship: 'x', verified: false }),
      'refuse',
    ],
    [
      'a refusal, where a client has the name',
      trust({ establishedVia: 'oauth2_client', baseuri: '' }),
      asked({ baseuri: '' }),
      'refuse',
    ],
    ['agreement, when both ask and this actor’s id is lower', trust({ ownRequest: asking }), asked(), 'join'],
    [
      'giving way, when both ask and the peer’s id is lower',
      trust({ peerId: 'a', ownRequest: asking }),
      asked({ peerId: 'a' }),
      'yield',
    ],
    [
      'agreement, with a peer that settles nothing',
      trust({ peerId: 'a', ownRequest: asking }),
      asked({ peerId: 'a', settlesById: false }),
      'join',
    ],
    [
      'no change, without proof, while both ask, with a peer that settles nothing',
      trust({ ownRequest: asking }),
      asked({ verified: false, settlesById: false }),
      'wait',
    ],
    [
      'a refusal, without proof, while both ask, of a peer that keeps what it had',
      trust({ ownRequest: asking }),
      asked({ verified: false }),
      'refuse',
    ],
    [
      'no change, without proof, when it crossed that of a peer that settles nothing',
      trust(),
      asked({ verified: false, crossed: true, settlesById: false }),
      'wait',
    ],
    [
      'a refusal, without proof, when it crossed that of a peer that keeps what it had',
      trust(),
      asked({ verified: false, crossed: true }),
      'refuse',
    ],
    [
      'a refusal, of another name, when this actor’s counts',
      trust({ ownRequest: asking }),
      asked({ relationship: 'x' }),
      'refuse',
    ],
    [
      'a refusal, when both renew the secret and this actor’s counts: the peer must not change to its own',
      trust({ ownRequest: { ...asking, nextSecretHash: hashSecret('b') } }),
      asked(),
      'refuse',
    ],
    [
      'giving way, when both renew the secret and the peer’s id is lower',
      trust({ peerId: 'a', ownRequest: { ...asking, nextSecretHash: hashSecret('b') } }),
      asked({ peerId: 'a' }),
      'yield',
    ],
    [
      'agreement, when both renew the secret, with a peer that settles nothing',
      trust({ ownRequest: { ...asking, nextSecretHash: hashSecret('b') } }),
      asked({ settlesById: false }),
      'join',
    ],
    [
      'no change, of another name, with a peer that settles nothing',
      trust({ ownRequest: asking }),
      asked({ relationship: 'x', settlesById: false }),
      'wait',
    ],
    [
      'a refusal, from another address, while both ask',
      trust({ ownRequest: asking }),
      asked({ baseuri: 'https://x/p' }),
      'refuse',
    ],
    [
      'a renewal, when the own request is long over',
      trust({ ownRequest: { ...asking, until: now } }),
      asked(),
      'rotate',
    ],
  ]
  for (const [what, existing, request, kind] of kinds) {
    it(`PEER-05 is ${what}`, () => assert.equal(judgeRequest(existing, request, now).kind, kind))
  }

  it('PEER-05 gives way in full only to the same name', () => {
    const existing = trust({ peerId: 'a', ownRequest: asking })
    assert.deepEqual(judgeRequest(existing, asked({ peerId: 'a' }), now), { kind: 'yield', agreed: true })
    assert.deepEqual(judgeRequest(existing, asked({ peerId: 'a', relationship: 'x' }), now), {
      kind: 'yield',
      agreed: false,
    })
  })
})

describe('that a peer does not know the secret that it was offered', () => {
  const cases: readonly [what: string, offer: { until: number; closedAt?: number }, verdict: string][] = [
    ['says nothing while the request may still be on its way', { until: now + 1 }, 'wait'],
    ['ends the proof of the request once nobody waits for it', { until: now }, 'close'],
    ['says nothing while the peer may act on a proof that it saw', { until: 0, closedAt: now - 29_999 }, 'wait'],
    ['ends the secret after that', { until: 0, closedAt: now - 30_000 }, 'drop'],
  ]
  for (const [what, offer, verdict] of cases) {
    it(`PEER-05 ${what}`, () => assert.equal(judgeOffer(offer, now, 30_000), verdict))
  }
})

describe('who completed the approval of both sides', () => {
  const cases: readonly [before: [boolean, boolean] | null, after: [boolean, boolean], by: string | null][] = [
    [null, [true, true], 'local'],
    [null, [false, true], null],
    [null, [true, false], null],
    [[false, false], [true, false], null],
    [[false, true], [true, true], 'local'],
    [[true, false], [true, true], 'remote'],
    [[false, false], [true, true], 'local'],
    [[true, true], [true, true], null],
    [[true, true], [false, true], null],
    [[true, true], [true, false], null],
  ]
  const flags = ([approved, peerApproved]: [boolean, boolean]) => ({ approved, peerApproved })
  for (const [before, after, by] of cases) {
    it(`R-TRUST-04 R-TRUST-05 is ${by ?? 'nobody'} from ${String(before)} to ${String(after)}`, () =>
      assert.equal(completedBy(before === null ? null : flags(before), flags(after)), by))
  }
})

describe('the name of a relationship', () => {
  it('is any text that a path can hold', () => {
    for (const name of ['friend', 'lover', 'mcp_client', 'old friend', 'Ämter', 'admin', 'owners', 'x'.repeat(100)]) {
      assert.equal(parseRelationship(name), name)
    }
  })
  it('is none of the words that mean somebody else, in whatever spelling', () => {
    for (const name of ['creator', 'trustee', 'owner', 'any', 'anyone', 'Creator', 'ANY', 'ｏwner', 'o\u0077ner']) {
      assert.equal(parseRelationship(name), null, name)
    }
  })
  it('is no text that a path would change', () => {
    for (const name of ['', ' ', ' x', 'x ', '.', '..', 'a/b', 'a\0b', 'a\nb', '\ud800', 'x'.repeat(101)]) {
      assert.equal(parseRelationship(name), null, JSON.stringify(name))
    }
  })
})

describe('the address of an actor', () => {
  it('has one spelling', () => {
    for (const text of [
      'https://Peer.Example.com/a/7',
      'https://peer.example.com:443/a/7/',
      'HTTPS://peer.example.com/a/x/../7//',
    ]) {
      assert.equal(parseBaseuri(text), 'https://peer.example.com/a/7')
    }
  })
  it('is nothing that could mean more than one thing', () => {
    for (const text of [
      '',
      'peer.example.com/7',
      'ftp://peer.example.com/7',
      'https://peer.example.com',
      'https://peer.example.com/',
      'https://u@peer.example.com/7',
      'https://peer.example.com/7?',
      'https://peer.example.com/7#',
      'https://peer.example.com/7 8',
      'https://pëer.example.com/7',
      `https://peer.example.com/${'x'.repeat(2000)}`,
    ]) {
      assert.equal(parseBaseuri(text), null, text)
    }
  })
  it('ends with the id', () => {
    assert.equal(idAt('https://peer.example.com/a/7'), '7')
    assert.equal(idAt('https://peer.example.com/a%20b'), 'a b')
    assert.equal(idAt('https://peer.example.com/%ff'), null)
    assert.equal(trustUrl('https://x/7', 'old friend', 'a:b'), 'https://x/7/trust/old%20friend/a%3Ab')
  })
})

describe('the owner rule', () => {
  const peer = (peerId: string, approved: boolean): Caller => ({
    kind: 'peer',
    peerId,
    relationship: 'friend',
    approved,
    via: 'bearer',
  })
  it('lets the peer of the path in, approved or where that does not matter', () => {
    assert.equal(judgeOwner(peer('p', true), 'p', { standing: 'approved' })?.allowed, true)
    assert.equal(judgeOwner(peer('p', false), 'p', { standing: 'approved' })?.allowed, false)
    assert.equal(judgeOwner(peer('p', false), 'p', { standing: 'any' })?.allowed, true)
  })
  it('says nothing of others, unless the path is that peer’s alone', () => {
    const others: readonly Caller[] = [
      peer('q', true),
      peer('', true),
      { kind: 'creator', via: 'basic' },
      { kind: 'client', clientId: 'p', peerId: 'p', relationship: 'friend', via: 'bearer' },
      { kind: 'trustee', via: 'bearer' },
    ]
    for (const other of others) {
      const named = other.kind === 'peer' && other.peerId === '' ? '' : 'p'
      assert.equal(judgeOwner(other, named, { standing: 'any' }), null)
      assert.equal(judgeOwner(other, named, { standing: 'any', exclusive: true })?.allowed, false)
    }
  })
})
