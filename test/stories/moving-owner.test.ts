/** The owner of an actor that moves: beginning, stopping, taking it at the new service, and the state of the peers. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { resolveConfig } from '../../src/features/config.ts'
import { passkey } from '../../src/index.ts'
import { EvilHome } from '../support/evil-home.ts'
import { relate } from '../support/friends.ts'
import { arrivedAt, movingWorld, type MoveView, newUrl, oldUrl, peerUrl, secretAt } from '../support/moving.ts'
import { continueUrlIn, PasskeyPage, signInWith, signUpWith } from '../support/passkey-page.ts'
import { PythonPeer } from '../support/python-peer.ts'
import { PythonSubscriber } from '../support/python-subscriptions.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { newPerson, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { SoftPasskey } from '../support/soft-passkey.ts'
import { until } from '../support/until.ts'

const provider = sharedProvider()
const pythons: PythonPeer[] = []

afterEach(async () => {
  for (const peer of pythons.splice(0)) await peer.close()
})

const message = async (answer: Response): Promise<string> => ((await answer.json()) as { message: string }).message

/** The path and query of a link to the new service. */
const pathIn = (claimUrl: string | undefined): string => (claimUrl ?? '').slice(newUrl.length)

/** Opens the link to the new service and chooses a way to sign in there. Returns the response, and the URL of the sign-in. */
async function choose(
  browser: TestBrowser,
  claimUrl: string | undefined,
  way: string,
): Promise<{ readonly answer: Response; readonly next: string }> {
  const [target = '', code = ''] = pathIn(claimUrl).split('?code=')
  const answer = await browser.post(target, { code, way })
  return { answer, next: answer.headers.get('location') ?? '' }
}

/** Continues a chosen way at the provider. */
async function finish(browser: TestBrowser, next: string, sub: string): Promise<Response> {
  const { url } = await (await provider()).signIn(next, sub)
  return browser.get(url.href)
}

forEachService((start) => {
  describe('the begin of a move', () => {
    it('needs a service that takes actors, and changes nothing otherwise (R-MOVE-10)', async () => {
      const world = await movingWorld(start, { home: { acceptMoves: false } })
      const alice = await world.old.createActor('alice@example.com')
      const refusals: readonly (readonly [to: string, status: number, text: RegExp])[] = [
        [newUrl, 408, /takes no accounts from other services/],
        ['https://nothing.example.com', 408, /could not be reached/],
        [oldUrl, 400, /this is the service itself/],
        [`${oldUrl}/${alice.id}`, 400, /this is the service itself/],
        ['ftp://example.com', 400, /neither https nor http/],
        ['', 400, /Cannot move to ""/],
        ['https://user@new.example.com', 400, /carries credentials/],
        ['https://new.example.com/?x=1', 400, /without further parts/],
      ]
      for (const [to, status, text] of refusals) {
        const answer = await alice.request('POST', '/move', { to })
        assert.equal(answer.status, status, to)
        assert.match(await message(answer), text)
      }
      assert.deepEqual(await (await alice.request('GET', '/move')).json(), { leaving: null, arrived: null })
      assert.equal((await alice.request('PUT', '/properties/a', { b: 1 })).status, 204)
      assert.equal((await world.old.request(`/${alice.id}/meta/moving`)).status, 404)
    })

    it('needs an origin that the new service lists (R-MOVE-10)', async () => {
      const listed = { TROUPE_ACCEPT_MOVES: 'https://other.example.com,https://old.example.com' }
      const { acceptMoves } = resolveConfig({ mode: 'development' }, listed)
      assert.deepEqual(acceptMoves, ['https://other.example.com', 'https://old.example.com'])
      const world = await movingWorld(start, { home: { acceptMoves } })
      const alice = await world.old.createActor('alice@example.com')
      for (const origin of [
        'https://evil.example.com',
        'https://old.example.com.evil.example',
        'http://old.example.com',
      ]) {
        const evil = await EvilHome.start(world.network, alice.id, origin)
        assert.equal(await evil.announce(world.home), 403, origin)
      }
      await world.move(alice)
      await world.landed(alice)
    })

    it('needs a recent sign-in (R-MOVE-08)', async () => {
      let now = Date.now()
      const world = await movingWorld(start, { old: { signIn: [passkey()], now: () => now } })
      const device = new SoftPasskey()
      const { browser, answer } = await signUpWith(world.old, device, 'Ada')
      const [, id = ''] = /([0-9a-f]{32})/.exec(answer.headers.get('location') ?? '') ?? []
      now += 6 * 60_000
      const begin = () => browser.fetchJson(`/${id}/move`, { to: newUrl })
      assert.equal((await begin()).status, 401)
      assert.match(await (await browser.get(`/${id}/www/move`)).text(), /Sign in again first\./)
      await signInWith(world.old, device, `/oauth/login/passkey?actor=${id}&fresh=1`, browser)
      assert.equal((await begin()).status, 202)
    })

    it('is refused for a peer, a second time, and during an import (R-MOVE-08)', async () => {
      const world = await movingWorld(start)
      const alice = await world.old.createActor('alice@example.com')
      const bob = await world.peers.createActor('bob@example.com')
      const peer = await relate(bob, [world.old, alice])
      assert.equal((await peer.request('POST', '/move', { to: newUrl })).status, 403)
      assert.equal((await peer.request('GET', '/move')).status, 403)
      world.network.fate = ({ method }) => (method === 'PUT' ? 'unreached' : 'arrives')
      await world.move(alice)
      assert.equal((await alice.request('POST', '/move', { to: newUrl })).status, 503)
    })
  })

  describe('the page of a running move', () => {
    it('is not refreshed, because it has the link to the new service (MOV-07)', async () => {
      const world = await movingWorld(start)
      const alice = await world.old.createActor('alice@example.com')
      const page = async (): Promise<string> => (await alice.request('GET', '/www/move')).text()
      assert.match(await page(), /data-live=/)
      world.network.fate = ({ method }) => (method === 'PUT' ? 'unreached' : 'arrives')
      await world.move(alice)
      const running = await page()
      assert.match(running, /\/claim\?code=/)
      assert.doesNotMatch(running, /data-live=/)
    })
  })

  describe('an actor that moves', () => {
    it('answers 503 to all but its move, and stays unchanged when the owner stops it (R-MOVE-08)', async () => {
      const world = await movingWorld(start)
      const alice = await world.old.createActor('alice@example.com')
      await alice.request('PUT', '/properties/a', { b: 1 })
      world.network.fate = ({ method }) => (method === 'PUT' ? 'unreached' : 'arrives')
      await world.move(alice)
      for (const [method, path] of [
        ['GET', '/properties/a'],
        ['PUT', '/properties/a'],
        ['GET', '/meta'],
        ['GET', '/www'],
        ['DELETE', ''],
      ] as const) {
        const answer = await alice.request(method, path, method === 'PUT' ? { b: 2 } : undefined)
        assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '5'], path)
      }
      const direct = (await world.old.app.actors.get(alice.id))?.set('a', { b: 3 })
      await assert.rejects(direct ?? Promise.resolve(), { code: 'actor_moving' })
      const { leaving } = (await (await alice.request('GET', '/move')).json()) as MoveView
      assert.deepEqual([leaving?.state, leaving?.to], ['moving', `${newUrl}/${alice.id}`])
      assert.equal((await world.home.request(`/${alice.id}/meta`)).status, 404)
      assert.equal((await alice.request('DELETE', '/move')).status, 204)
      assert.equal((await alice.request('DELETE', '/move')).status, 404)
      assert.deepEqual(await (await alice.request('GET', '/properties/a')).json(), { b: 1 })
      world.network.fate = () => 'arrives'
      await world.old.settled()
      assert.equal((await world.home.request(`/${alice.id}/meta`)).status, 404)
      assert.equal((await alice.request('PUT', '/properties/a', { b: 4 })).status, 204)
      // The owner may move it later.
      await world.move(alice)
      await world.arrived(alice)
      assert.deepEqual(await (await world.atHome(alice, 'GET', '/properties/a')).json(), { b: 4 })
    })

    it('stays when the new service refuses its archive, and says why (R-MOVE-08)', async () => {
      const world = await movingWorld(start, { home: { maxImportBytes: 200 } })
      const alice = await world.old.createActor('alice@example.com')
      await alice.request('PUT', '/properties/a', { b: 'x'.repeat(500) })
      await world.move(alice)
      let view: MoveView | undefined
      await until(async () => {
        view = (await (await alice.request('GET', '/move')).json()) as MoveView
        return view.leaving?.state === 'failed'
      })
      assert.match(view?.leaving?.reason ?? '', /its archive has more than 200 bytes/)
      assert.equal((await alice.request('PUT', '/properties/a', { b: 2 })).status, 204)
      assert.equal((await world.old.request(`/${alice.id}/meta/moving`)).status, 404)
      assert.equal((await world.home.request(`/${alice.id}/meta`)).status, 404)
    })

    it('moves on to a third service, and back (R-MOVE-01, R-MOVE-03)', async () => {
      const world = await movingWorld(start, { all: { acceptMoves: true } })
      const alice = await world.old.createActor('alice@example.com')
      const bob = await world.peers.createActor('bob@example.com')
      await relate(bob, [world.old, alice])
      // Bob is not reached before the second move, so he follows two notices.
      world.network.fate = ({ method, url }) =>
        method === 'POST' && url.startsWith(`${peerUrl}/${bob.id}`) ? 'unreached' : 'arrives'
      await world.move(alice)
      await world.arrived(alice)
      const third = await start({ baseUrl: 'https://third.example.com', peerClient: world.network, acceptMoves: true })
      world.network.add(third)
      assert.equal((await world.atHome(alice, 'POST', '/move', { to: third.url })).status, 202)
      await arrivedAt(third, alice)
      world.network.fate = () => 'arrives'
      const bobKnows = async (service: TestService): Promise<void> => {
        await until(async () => {
          const trust = await (await world.peers.app.running()).parts.trusts.find(bob.id, alice.id)
          return trust?.baseuri === `${service.url}/${alice.id}`
        })
      }
      await (await third.app.running()).parts.arrivalClaims.retry(alice.id)
      await bobKnows(third)
      assert.equal((await world.old.request(`/${alice.id}/meta`)).headers.get('location'), `${newUrl}/${alice.id}/meta`)
      const { actors } = (await third.app.running()).parts
      const there = await actors.require(alice.id)
      const authorization = `Basic ${btoa(`${alice.creator}:${actors.passphraseOf(there)}`)}`
      const back = await third.request(`/${alice.id}/move`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ to: oldUrl }),
      })
      assert.equal(back.status, 202, await back.text())
      await arrivedAt(world.old, alice)
      await bobKnows(world.old)
      await until(
        async () => (await secretAt(world.peers, bob.id, alice.id)) === (await secretAt(world.old, alice.id, bob.id)),
      )
    })
  })

  describe('the owner at the new service', () => {
    it('takes the actor once, with a provider of that service (R-MOVE-09)', async () => {
      const at = signInAt(await provider())
      const world = await movingWorld(start, { home: at })
      const alice = await world.old.createActor('alice@example.com')
      const { leaving } = await world.move(alice)
      await world.landed(alice)
      const browser = new TestBrowser(world.home)
      const page = await browser.get(pathIn(leaving?.claim_url))
      assert.equal(page.status, 200)
      assert.match(await page.text(), /<button type="submit" name="way" value="acme">/)
      const person = newPerson(await provider())
      const { next } = await choose(browser, leaving?.claim_url, 'acme')
      const entered = await finish(browser, next, person.sub)
      assert.equal(entered.headers.get('location'), `${newUrl}/${alice.id}/www/move`)
      assert.match(await (await browser.get(`/${alice.id}/www/move`)).text(), /Moved here/)
      assert.equal((await world.home.app.actors.get(alice.id))?.creator, person.email)
      // From now on, the person signs in as usual. The link is used.
      const again = await signIn(new TestBrowser(world.home), await provider(), person.sub)
      assert.equal(again.headers.get('location'), `${newUrl}/${alice.id}/www`)
      assert.equal((await browser.get(pathIn(leaving?.claim_url))).status, 404)
      const late = await choose(new TestBrowser(world.home), leaving?.claim_url, 'acme')
      assert.equal(late.answer.status, 403)
    })

    it('takes it with a new passkey (R-MOVE-09)', async () => {
      const world = await movingWorld(start, { home: { signIn: [passkey()] } })
      const alice = await world.old.createActor('alice@example.com')
      const { leaving } = await world.move(alice)
      await world.landed(alice)
      const browser = new TestBrowser(world.home)
      const { next } = await choose(browser, leaving?.claim_url, 'passkey')
      const device = new SoftPasskey()
      const page = await PasskeyPage.at(new URL(next), browser)
      const answer = await browser.get(continueUrlIn(await (await page.signUp(device, 'Alice')).text()))
      assert.equal(answer.headers.get('location'), `${newUrl}/${alice.id}/www/move`)
      const again = await signInWith(world.home, device)
      assert.equal(again.headers.get('location'), `${newUrl}/${alice.id}/www`)
      // A second person who has the link comes too late.
      const late = await PasskeyPage.open(world.home, '/oauth/login/passkey', new TestBrowser(world.home))
      assert.equal(late.status, 200)
      assert.equal((await choose(new TestBrowser(world.home), leaving?.claim_url, 'passkey')).answer.status, 403)
    })

    it('takes it by a new passphrase at a service without a sign-in (R-MOVE-09)', async () => {
      const world = await movingWorld(start)
      const alice = await world.old.createActor('alice@example.com')
      const { leaving } = await world.move(alice)
      await world.landed(alice)
      const path = pathIn(leaving?.claim_url)
      const [target = '', code = ''] = path.split('?code=')
      const browser = new TestBrowser(world.home)
      assert.match(await (await browser.get(path)).text(), /Use a passphrase/)
      const taken = await (await browser.post(target, { code })).text()
      const [, shown = ''] = /<dd><code>([0-9a-f]{40})<\/code>/.exec(taken) ?? []
      const read = await world.home.request(`/${alice.id}/properties`, {
        headers: { authorization: `Basic ${btoa(`${alice.creator}:${shown}`)}` },
      })
      assert.equal(read.status, 200)
      assert.equal((await browser.post(target, { code })).status, 403)
      assert.equal((await browser.post(target, { code: 'x'.repeat(43) })).status, 403)
      assert.equal((await browser.get(`${target}?code=${'x'.repeat(43)}`)).status, 404)
    })

    it('is not a person who only has the name or the account of the archive (R-MOVE-09)', async () => {
      const idp = await provider()
      const at = signInAt(idp)
      const world = await movingWorld(start, { old: at, home: at })
      const person = newPerson(idp)
      const browser = new TestBrowser(world.old)
      const entered = await signIn(browser, idp, person.sub)
      const [, id = ''] = /([0-9a-f]{32})/.exec(entered.headers.get('location') ?? '') ?? []
      const answer = await browser.fetchJson(`/${id}/move`, { to: newUrl })
      assert.equal(answer.status, 202, await answer.clone().text())
      const { leaving } = (await answer.json()) as MoveView
      await until(async () => (await world.home.request(`/${id}/meta`)).status === 200)
      // The same person gets a page that asks for the passphrase, and not the actor.
      const there = await signIn(new TestBrowser(world.home), idp, person.sub)
      assert.equal(there.status, 200)
      assert.doesNotMatch(await there.text(), new RegExp(id))
      // A person with another account there is refused, and may use another sign-in.
      const other = newPerson(idp)
      await signIn(new TestBrowser(world.home), idp, other.sub)
      const claiming = new TestBrowser(world.home)
      const { next } = await choose(claiming, leaving?.claim_url, 'acme')
      const refused = await finish(claiming, next, other.sub)
      assert.equal(refused.status, 409)
      assert.match(await refused.text(), /another account here/)
      const taken = await finish(claiming, (await choose(claiming, leaving?.claim_url, 'acme')).next, person.sub)
      assert.equal(taken.headers.get('location'), `${newUrl}/${id}/www/move`)
    })
  })

  describe('a peer that does not know the extension', () => {
    // The Python implementation deletes its copy and its subscriptions when it gets DELETE for a relationship. It keeps both
    // when a known actor asks again.
    it('keeps its copy, and approves a request from the new address (R-MOVE-07)', async () => {
      const [old, home] = await Promise.all([start({ listen: true }), start({ listen: true, acceptMoves: true })])
      const alice: TestActor = await old.createActor('alice@example.com')
      const peer = await PythonPeer.start({ autoAccept: 'friend' })
      pythons.push(peer)
      const asked = await alice.request('POST', '/trust', { url: peer.url, relationship: 'friend', desc: 'book club' })
      assert.equal(asked.status, 201)
      const before = peer.trusts.get(alice.id)?.secret
      await alice.request('PUT', `/trust/friend/${peer.id}`, { nickname: 'Py' })
      const subscriber = new PythonSubscriber(peer)
      const subscription = await subscriber.subscribe(alice.id)
      await alice.request('PUT', '/properties/mood', 'sunny')
      await until(() => subscriber.copy.get('mood') === 'sunny')
      peer.autoAccept = null
      const begun = await alice.request('POST', '/move', { to: home.url })
      assert.equal(begun.status, 202, await begun.clone().text())
      await arrivedAt(home, alice)
      await until(() => peer.trusts.get(alice.id)?.baseuri === `${home.url}/${alice.id}`)
      assert.deepEqual(peer.events, [`trust_request_received ${alice.id}`, `trust_request_received ${alice.id}`])
      const parts = (await home.app.running()).parts
      await until(async () => (await parts.arrivalClaims.find(alice.id))?.counts.asked === 1)
      const trust = await parts.trusts.find(alice.id, peer.id)
      assert.deepEqual(
        [trust?.approved, trust?.peerApproved, trust?.nickname, trust?.description],
        [true, false, 'Py', 'book club'],
      )
      assert.notEqual(peer.trusts.get(alice.id)?.secret, before)
      assert.equal(await secretAt(home, alice.id, peer.id), peer.trusts.get(alice.id)?.secret)
      // A change before the approval arrives after it, by the subscription of before.
      const handle = await home.app.actors.get(alice.id)
      await handle?.set('mood', 'rainy')
      await peer.approve(alice.id)
      await until(() => subscriber.copy.get('mood') === 'rainy')
      assert.deepEqual(subscriber.subscriptions, [subscription])
    })

    it('that refuses the request keeps its relationship, and is tried again (R-MOVE-07)', async () => {
      let stoppedAt: number | undefined
      const [old, home] = await Promise.all([
        start({ listen: true }),
        // Before the owner retries, the pause of the peer must not end.
        start({ listen: true, acceptMoves: true, now: () => stoppedAt ?? Date.now(), random: () => 0.5 }),
      ])
      const alice: TestActor = await old.createActor('alice@example.com')
      const peer = await PythonPeer.start({ autoAccept: 'friend' })
      pythons.push(peer)
      await alice.request('POST', '/trust', { url: peer.url, relationship: 'friend' })
      let answers = 0
      peer.route('POST', /^\/trust\/friend$/, () => {
        stoppedAt ??= Date.now()
        return answers++ === 0 ? { status: 403 } : undefined
      })
      await alice.request('POST', '/move', { to: home.url })
      await arrivedAt(home, alice)
      await until(() => answers > 0)
      const { arrivalClaims, trusts } = (await home.app.running()).parts
      await until(async () => /valid response/.test((await arrivalClaims.find(alice.id))?.peers[0]?.reason ?? ''))
      assert.equal((await trusts.find(alice.id, peer.id))?.approved, true)
      assert.equal(peer.trusts.get(alice.id)?.baseuri, `${old.url}/${alice.id}`)
      assert.equal(await arrivalClaims.retry(alice.id), 1)
      await until(async () => (await arrivalClaims.find(alice.id))?.counts.asked === 1)
      assert.equal(peer.trusts.get(alice.id)?.baseuri, `${home.url}/${alice.id}`)
    })

    it('that is down is tried again, and by the owner after it failed (R-MOVE-07)', async () => {
      const world = await movingWorld(start)
      const alice = await world.old.createActor('alice@example.com')
      const bob = await world.peers.createActor('bob@example.com')
      await relate(bob, [world.old, alice])
      const { trusts } = (await world.peers.app.running()).parts
      world.network.fate = ({ url }) => (url.startsWith(`${peerUrl}/${bob.id}/callbacks/moved`) ? 'lost' : 'arrives')
      await world.move(alice)
      await world.arrived(alice)
      await until(async () => (await trusts.find(bob.id, alice.id))?.baseuri === `${newUrl}/${alice.id}`)
      await until(async () => {
        const view = (await (await world.atHome(alice, 'GET', '/move')).json()) as MoveView
        return /connection broke/.test(view.arrived?.first[0]?.reason ?? '')
      })
      // The peer has the new secret and the answer was lost. Nothing is given up meanwhile.
      assert.equal(
        (await secretAt(world.peers, bob.id, alice.id)) === (await secretAt(world.home, alice.id, bob.id)),
        false,
      )
      world.network.fate = () => 'arrives'
      assert.deepEqual((await world.informed(alice)).arrived?.peers, { informed: 1 })
      assert.equal(await secretAt(world.peers, bob.id, alice.id), await secretAt(world.home, alice.id, bob.id))
      await trusts.delete({ id: bob.id, creator: bob.creator, kind: 'person' }, alice.id, null, {
        byPeer: false,
        notify: false,
      })
      assert.deepEqual(await (await world.atHome(alice, 'POST', '/move/peers')).json(), { peers: 0 })
    })
  })
})
