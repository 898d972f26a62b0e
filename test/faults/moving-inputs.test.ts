/** Statements with claims of any shape, and the link of a move in the hands of an old session. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EvilHome, evilStatement, newEvilKeys } from '../support/evil-home.ts'
import { relate } from '../support/friends.ts'
import { addressAt, movingWorld, type MoveView, newUrl, oldUrl, peerUrl, secretAt } from '../support/moving.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { until } from '../support/until.ts'

const minuteMs = 60_000

const claims = ['iss', 'sub', 'aud', 'secret', 'approved', 'moved_at', 'stated_at', 'iat', 'exp', 'typ'] as const
const shapes: readonly unknown[] = [
  null,
  0,
  -1,
  1.5,
  1e300,
  '',
  'constructor',
  '9'.repeat(400),
  '\ud800',
  true,
  [],
  ['https://evil.example.com/ada'],
  {},
  JSON.parse('{"__proto__":{"a":1}}') as unknown,
]

forEachService((start) => {
  describe('a statement of a stranger', () => {
    it('with claims of any shape is refused and never fails (MOV-11)', async () => {
      const world = await movingWorld(start)
      const alice = await world.old.createActor('alice@example.com')
      const bob = await world.peers.createActor('bob@example.com')
      const { secret } = await relate(bob, [world.old, alice])
      const { kept } = await newEvilKeys()
      const to = { from: `${newUrl}/${alice.id}`, peer: `${peerUrl}/${bob.id}` }
      const known = { ...to, from: `${oldUrl}/${alice.id}` }
      for (const claim of claims)
        for (const shape of shapes)
          for (const at of [to, known]) {
            const statement = await evilStatement(kept, at, { [claim]: shape })
            const answer = await world.peers.request(`/${bob.id}/callbacks/moved/${alice.id}`, {
              method: 'POST',
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify({ statement }),
            })
            assert.equal(answer.status, 403, `${claim} ${JSON.stringify(shape)}: ${await answer.text()}`)
          }
      assert.equal(await secretAt(world.peers, bob.id, alice.id), secret)
      assert.equal(await addressAt(world.peers, bob.id, alice.id), `${oldUrl}/${alice.id}`)
    })

    it('that an address confirms in any shape is refused and never fails (MOV-11)', async () => {
      const world = await movingWorld(start)
      const bob = await world.peers.createActor('bob@example.com')
      const evil = await EvilHome.start(world.network, 'ada')
      await relateTo(world.peers, bob, { baseuri: evil.url, peerId: 'ada' })
      const statement = await evilStatement(evil.keys.kept, { from: evil.url, peer: `${peerUrl}/${bob.id}` })
      const right = { state: 'arrived', key: evil.keys.shown, from: [`${oldUrl}/ada`] }
      for (const member of ['state', 'key', 'from', 'to', 'notice', 'token_hash'])
        for (const shape of shapes) {
          evil.document = { ...right, state: 'moved', to: `${newUrl}/ada`, notice: 'x.y.z', [member]: shape }
          const answer = await world.peers.request(`/${bob.id}/callbacks/moved/ada`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ statement }),
          })
          const text = await answer.text()
          assert.ok([403, 503].includes(answer.status), `${member} ${JSON.stringify(shape)}: ${answer.status} ${text}`)
          assert.doesNotMatch(text, /server_error/)
        }
      assert.equal(await addressAt(world.peers, bob.id, 'ada'), evil.url)
    })
  })

  describe('the link of a running move', () => {
    it('is read by a recent sign-in and by the passphrase, and not by an old session (WEB-19)', async () => {
      let now = Date.now()
      const world = await movingWorld(start, { old: { now: () => now } })
      const alice = await world.old.createActor('alice@example.com')
      const browser = await OwnersBrowser.open(world.old, alice)
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      world.network.fate = async ({ method, url }) => {
        if (method === 'PUT' && url.startsWith(`${newUrl}/moves`)) await released
        return 'arrives' as const
      }
      const { leaving } = await world.move(alice)
      const code = new URL(leaving?.claim_url ?? '').searchParams.get('code') ?? ''
      assert.equal(code.length, 43)
      const texts = async (): Promise<readonly [page: string, json: string]> => {
        const headers = { ...browser.headers, accept: 'application/json', 'sec-fetch-site': 'same-origin' }
        const json = await world.old.request(`/${alice.id}/move`, { headers })
        assert.equal(json.status, 200)
        return [await (await browser.get('/move')).text(), await json.text()]
      }
      assert.deepEqual(
        (await texts()).map((text) => text.includes(code)),
        [true, true],
      )
      now += 5 * minuteMs + 1
      const [page, json] = await texts()
      assert.deepEqual([page.includes(code), json.includes(code)], [false, false])
      assert.match(page, /Sign in again first\./)
      const { state, to } = (JSON.parse(json) as MoveView).leaving ?? {}
      assert.deepEqual([state, to], ['moving', `${newUrl}/${alice.id}`])
      const own = (await (await alice.request('GET', '/move')).json()) as MoveView
      assert.equal(own.leaving?.claim_url, leaving?.claim_url)
      release()
      await until(async () => (await world.old.request(`/${alice.id}/meta`)).status === 308)
    })
  })
})
