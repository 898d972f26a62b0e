import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { judgeOwner } from '../../src/permission/owner.ts'
import type { Caller } from '../../src/caller.ts'
import { hashSecret } from '../../src/secret/hash.ts'
import type { Sealed } from '../../src/secret/sealed.ts'
import { parseLink } from '../../src/trust/handshake/invitation-link.ts'
import { copiedAddress, idAt, parseBaseuri, trustUrl } from '../../src/trust/baseuri.ts'
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
    nickname: '',
    approvedUntil: null,
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
    comparesIds: true,
    crossed: false,
    verified: true,
    ...change,
  }
}

const asking: OwnRequest = { id: 'r', relationship: 'friend', until: now + 1, nextSecretHash: null }

describe('a trust request of a peer', () => {
  const kinds: readonly [what: string, existing: Trust | null, request: AskedAgain, kind: string][] = [
    ['a new relationship when none exists', null, asked(), 'add'],
    ['a new relationship even without verification', null, asked({ verified: false }), 'add'],
    ['a renewal when the peer is verified', trust(), asked(), 'rotate'],
    ['a renewal of a pending relationship', trust({ approved: false }), asked(), 'rotate'],
    ['a rejection without verification', trust(), asked({ verified: false }), 'refuse'],
    [
      'a rejection without verification of a pending relationship',
      trust({ approved: false }),
      asked({ verified: false }),
      'refuse',
    ],
    ['a rejection from another URL', trust(), asked({ baseuri: 'https://peer.example.com/q/p' }), 'refuse'],
    ['a rejection of another trust type than the approved one', trust(), asked({ relationship: 'admin' }), 'refuse'],
    ['a new trust type before the approval', trust({ approved: false }), asked({ relationship: 'x' }), 'replace'],
    [
      'a rejection of a new trust type without verification',
      trust({ approved: false }),
      asked({ relationship: 'x', verified: false }),
      'refuse',
    ],
    [
      'a rejection when an AI client has the peer id',
      trust({ establishedVia: 'oauth2_client', baseuri: '' }),
      asked({ baseuri: '' }),
      'refuse',
    ],
    [
      'a merge when both send requests and the id of this actor is lower',
      trust({ ownRequest: asking }),
      asked(),
      'join',
    ],
    [
      'a withdrawal of the own request when both send requests and the peer id is lower',
      trust({ peerId: 'a', ownRequest: asking }),
      asked({ peerId: 'a' }),
      'yield',
    ],
    [
      'a merge with a peer that does not compare ids',
      trust({ peerId: 'a', ownRequest: asking }),
      asked({ peerId: 'a', comparesIds: false }),
      'join',
    ],
    [
      'no change without verification, when both send requests and the peer does not compare ids',
      trust({ ownRequest: asking }),
      asked({ verified: false, comparesIds: false }),
      'wait',
    ],
    [
      'a rejection without verification, when both send requests and the peer compares ids',
      trust({ ownRequest: asking }),
      asked({ verified: false }),
      'refuse',
    ],
    [
      'no change without verification, when the requests crossed and the peer does not compare ids',
      trust(),
      asked({ verified: false, crossed: true, comparesIds: false }),
      'wait',
    ],
    [
      'a rejection without verification, when the requests crossed and the peer compares ids',
      trust(),
      asked({ verified: false, crossed: true }),
      'refuse',
    ],
    [
      'a rejection of another trust type when the request of this actor takes precedence',
      trust({ ownRequest: asking }),
      asked({ relationship: 'x' }),
      'refuse',
    ],
    [
      'a rejection when both renew the secret and the request of this actor takes precedence, so that the peer keeps this secret',
      trust({ ownRequest: { ...asking, nextSecretHash: hashSecret('b') } }),
      asked(),
      'refuse',
    ],
    [
      'a withdrawal of the own request when both renew the secret and the peer id is lower',
      trust({ peerId: 'a', ownRequest: { ...asking, nextSecretHash: hashSecret('b') } }),
      asked({ peerId: 'a' }),
      'yield',
    ],
    [
      'the secret of the peer, and an open renewal, when both renew the secret and the peer does not compare ids',
      trust({ ownRequest: { ...asking, nextSecretHash: hashSecret('b') } }),
      asked({ comparesIds: false }),
      'both',
    ],
    [
      'no change for another trust type, when the peer does not compare ids',
      trust({ ownRequest: asking }),
      asked({ relationship: 'x', comparesIds: false }),
      'wait',
    ],
    [
      'a rejection from another URL when both send requests',
      trust({ ownRequest: asking }),
      asked({ baseuri: 'https://x/p' }),
      'refuse',
    ],
    ['a renewal when the own request has expired', trust({ ownRequest: { ...asking, until: now } }), asked(), 'rotate'],
  ]
  for (const [what, existing, request, kind] of kinds) {
    it(`leads to ${what} (PEER-05)`, () => assert.equal(judgeRequest(existing, request, now).kind, kind))
  }

  it('replaces the own request completely only when both have the same trust type (PEER-05)', () => {
    const existing = trust({ peerId: 'a', ownRequest: asking })
    assert.deepEqual(judgeRequest(existing, asked({ peerId: 'a' }), now), { kind: 'yield', agreed: true })
    assert.deepEqual(judgeRequest(existing, asked({ peerId: 'a', relationship: 'x' }), now), {
      kind: 'yield',
      agreed: false,
    })
  })
})

describe('an offered secret that the peer does not know', () => {
  const cases: readonly [what: string, offer: { until: number; closedAt?: number }, verdict: string][] = [
    ['is kept while the request may still be in transit', { until: now + 1 }, 'wait'],
    ['ends the verification of its request after the time limit of the request', { until: now }, 'close'],
    ['is kept while the peer may act on a verification that it received', { until: 0, closedAt: now - 29_999 }, 'wait'],
    ['is dropped after that', { until: 0, closedAt: now - 30_000 }, 'drop'],
  ]
  for (const [what, offer, verdict] of cases) {
    it(`${what} (PEER-11)`, () => assert.equal(judgeOffer(offer, now, 30_000), verdict))
  }
})

describe('the side that completed the approval', () => {
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
    it(`is ${by ?? 'absent'} from ${String(before)} to ${String(after)} (R-TRUST-04, R-TRUST-05)`, () =>
      assert.equal(completedBy(before === null ? null : flags(before), flags(after)), by))
  }
})

describe('the name of a trust type', () => {
  it('can be any string that a path can contain', () => {
    for (const name of ['friend', 'lover', 'mcp_client', 'old friend', 'Ämter', 'admin', 'owners', 'x'.repeat(100)]) {
      assert.equal(parseRelationship(name), name)
    }
  })
  it('cannot be a word for another kind of caller, in any spelling', () => {
    for (const name of ['creator', 'trustee', 'owner', 'any', 'anyone', 'Creator', 'ANY', 'ｏwner', 'o\u0077ner']) {
      assert.equal(parseRelationship(name), null, name)
    }
  })
  it('cannot be a string that a path would change', () => {
    for (const name of ['', ' ', ' x', 'x ', '.', '..', 'a/b', 'a\0b', 'a\nb', '\ud800', 'x'.repeat(101)]) {
      assert.equal(parseRelationship(name), null, JSON.stringify(name))
    }
  })
})

describe('the URL of an actor', () => {
  it('is normalized to one spelling', () => {
    for (const text of [
      'https://Peer.Example.com/a/7',
      'https://peer.example.com:443/a/7/',
      'HTTPS://peer.example.com/a/x/../7//',
    ]) {
      assert.equal(parseBaseuri(text), 'https://peer.example.com/a/7')
    }
  })
  it('is rejected when it is ambiguous', () => {
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
  it('is found in the URL of each page of the actor that a person copies (HTTP-38)', () => {
    const roots = ['https://peer.example.com/7', 'https://peer.example.com/apps/a/7', 'http://localhost:3000/trust']
    const pages = [
      '',
      '/',
      '//',
      '/www',
      '/www/',
      '/www/trust/new',
      '/www/properties/files',
      '/meta',
      '/meta/actingweb/version',
      '/properties/mood',
      '/trust/friend/abc',
      '/files/a%20b.txt',
      '/mcp',
    ]
    for (const root of roots)
      for (const page of pages)
        for (const end of ['', '?', '#', '?lang=de', '#top', '?a=/www/b#/trust/c'])
          for (const copied of [`${root}${page}${end}`, `  ${root}${page}${end}\n`])
            assert.equal(copiedAddress(copied), root, copied)
  })
  it('is not found in another text', () => {
    for (const text of [
      '',
      '7',
      'peer.example.com/7',
      'ftp://peer.example.com/7/www',
      'https://peer.example.com/',
      'https://u@peer.example.com/7/www',
      'https://u:p@peer.example.com/7',
      'https://peer.example.com/7 8/www',
      'https://pëer.example.com/7/www',
      'javascript://peer.example.com/7/www',
    ])
      assert.equal(copiedAddress(text), null, text)
    assert.equal(
      parseLink('https://peer.example.com/7/invite/AAAAAAAAAAAAAAAAAAAAAA?lang=de#x')?.baseuri,
      'https://peer.example.com/7',
    )
    assert.equal(parseLink('https://peer.example.com/7?x=/invite/AAAAAAAAAAAAAAAAAAAAAA'), null)
  })
  it('ends with the id of the actor', () => {
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
  it('allows the peer of the path when it is approved, and always where approval is not required', () => {
    assert.equal(judgeOwner(peer('p', true), 'p', { standing: 'approved' })?.allowed, true)
    assert.equal(judgeOwner(peer('p', false), 'p', { standing: 'approved' })?.allowed, false)
    assert.equal(judgeOwner(peer('p', false), 'p', { standing: 'any' })?.allowed, true)
  })
  it('decides nothing for other callers, unless the path is exclusive to the peer', () => {
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
