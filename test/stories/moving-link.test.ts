/** The link by which the owner takes an actor that has moved: the old service shows it to the owner until it was used. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { passkey } from '../../src/index.ts'
import { relate } from '../support/friends.ts'
import { arrivedAt, movingWorld, type MoveView, type MovingWorld, newUrl, oldUrl } from '../support/moving.ts'
import { signInWith, signUpWith } from '../support/passkey-page.ts'
import { forEachService } from '../support/service.ts'
import { actorIn, newPerson, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { SoftPasskey } from '../support/soft-passkey.ts'
import { until } from '../support/until.ts'

const provider = sharedProvider()
const minuteMs = 60_000
const dayMs = 86_400_000

const linkIn = (page: string): string | undefined => /claim\?code=[\w-]{43}/.exec(page)?.[0]

forEachService((start) => {
  const hasLeft = ({ old }: MovingWorld, id: string): Promise<void> =>
    until(async () => (await old.request(`/${id}/meta`)).status === 308)
  const isGone = async ({ old }: MovingWorld, id: string): Promise<boolean> =>
    (await (await old.app.running()).parts.actors.find(id)) === null

  /** The owner of an actor at the old service, with a session there, whose actor is at the new service. */
  async function movedOwner(options: Parameters<typeof movingWorld>[1] = {}) {
    const idp = await provider()
    const world = await movingWorld(start, { ...options, old: { ...signInAt(idp), ...options.old } })
    const person = newPerson(idp)
    const browser = new TestBrowser(world.old)
    const id = actorIn(await signIn(browser, idp, person.sub))
    const begun = await browser.fetchJson(`/${id}/move`, { to: newUrl })
    assert.equal(begun.status, 202)
    const { leaving } = (await begun.json()) as MoveView
    const code = linkIn(leaving?.claim_url ?? '')
    assert.ok(code)
    await hasLeft(world, id)
    return { idp, world, person, browser, id, code }
  }

  describe('the link to an actor that has moved', () => {
    it('is on its page at the old service until it was used (R-MOVE-12)', async () => {
      const { world, browser, id, code } = await movedOwner()
      for (let reload = 0; reload < 3; reload += 1) {
        const page = await browser.get(`/${id}/www/move`)
        assert.equal(page.status, 200)
        const text = await page.text()
        assert.equal(linkIn(text), code)
        assert.match(text, /Your account has moved/)
        assert.doesNotMatch(text, /Stop move|Move this account/)
      }
      const { leaving } = (await (await browser.get(`/${id}/move`, { accept: 'application/json' })).json()) as MoveView
      assert.deepEqual([leaving?.state, linkIn(leaving?.claim_url ?? '')], ['moved', code])
      // Everything else leads to the new service.
      for (const path of ['/www', '/www/settings', '/properties', ''])
        assert.equal((await browser.get(`/${id}${path}`)).status, 308, path)
      await arrivedAt(world.home, { id })
      await until(() => isGone(world, id))
      assert.equal((await browser.get(`/${id}/www/move`)).status, 308)
    })

    it('is found by a new sign-in with the same account of a provider (R-MOVE-12)', async () => {
      const { idp, world, person, id, code } = await movedOwner()
      const browser = new TestBrowser(world.old)
      const entered = await signIn(browser, idp, person.sub)
      assert.equal(entered.headers.get('location'), `${oldUrl}/${id}/www/move`)
      assert.equal(linkIn(await (await browser.get(`/${id}/www/move`)).text()), code)
      // After its use, the same sign-in makes a new actor.
      await arrivedAt(world.home, { id })
      await until(() => isGone(world, id))
      const later = actorIn(await signIn(new TestBrowser(world.old), idp, person.sub))
      assert.notEqual(later, '')
      assert.notEqual(later, id)
    })

    it('is found by a sign-in with the same passkey (R-MOVE-12)', async () => {
      const world = await movingWorld(start, { old: { signIn: [passkey()] } })
      const device = new SoftPasskey()
      const { browser, answer } = await signUpWith(world.old, device, 'Ada')
      const id = actorIn(answer)
      assert.equal((await browser.fetchJson(`/${id}/move`, { to: newUrl })).status, 202)
      await hasLeft(world, id)
      const again = new TestBrowser(world.old)
      const entered = await signInWith(world.old, device, undefined, again)
      assert.equal(entered.headers.get('location'), `${oldUrl}/${id}/www/move`)
      assert.ok(linkIn(await (await again.get(`/${id}/www/move`)).text()))
      const stranger = await signUpWith(world.old, new SoftPasskey(), 'Mallory')
      assert.equal((await stranger.browser.get(`/${id}/www/move`)).status, 308)
    })

    it('is found by the passphrase, and while the actor moves by a sign-in (R-MOVE-12)', async () => {
      const world = await movingWorld(start)
      const alice = await world.old.createActor('alice@example.com')
      const { leaving } = await world.move(alice)
      await hasLeft(world, alice.id)
      const shown = (await (await alice.request('GET', '/move')).json()) as MoveView
      assert.equal(shown.leaving?.claim_url, leaving?.claim_url)
      const idp = await provider()
      const moving = await movingWorld(start, { old: signInAt(idp) })
      moving.network.fate = ({ method }) => (method === 'PUT' ? 'unreached' : 'arrives')
      const person = newPerson(idp)
      const first = new TestBrowser(moving.old)
      const id = actorIn(await signIn(first, idp, person.sub))
      assert.equal((await first.fetchJson(`/${id}/move`, { to: newUrl })).status, 202)
      const second = new TestBrowser(moving.old)
      const entered = await signIn(second, idp, person.sub)
      assert.equal(entered.headers.get('location'), `${oldUrl}/${id}/www/move`)
      assert.ok(linkIn(await (await second.get(`/${id}/www/move`)).text()))
    })

    it('is not shown to a stranger (R-MOVE-12)', async () => {
      const idp = await provider()
      const world = await movingWorld(start)
      const alice = await world.old.createActor('alice@example.com')
      const bob = await world.peers.createActor('bob@example.com')
      const { secret } = await relate(bob, [world.old, alice])
      const carol = await world.old.createActor('carol@example.com')
      await world.move(alice)
      await hasLeft(world, alice.id)
      const basic = (user: string, password: string): string => `Basic ${btoa(`${user}:${password}`)}`
      for (const authorization of [
        undefined,
        basic(alice.creator, 'wrong'),
        basic(alice.creator, ''),
        basic(carol.creator, carol.passphrase),
        basic(alice.creator, carol.passphrase),
        `Bearer ${secret}`,
        `Bearer ${'x'.repeat(40)}`,
        'Basic x',
      ])
        for (const path of ['/move', '/www/move']) {
          const headers = authorization === undefined ? {} : { authorization }
          const answer = await world.old.request(`/${alice.id}${path}`, { headers })
          assert.equal(answer.status, 308, `${path} ${authorization}`)
          assert.equal(linkIn(await answer.text()), undefined)
        }
      const { world: other, id, idp: same } = { ...(await movedOwner()), idp }
      const mallory = newPerson(same)
      const browser = new TestBrowser(other.old)
      await signIn(browser, same, mallory.sub)
      assert.equal((await browser.get(`/${id}/www/move`)).status, 308)
      const refused = await signIn(new TestBrowser(other.old), same, mallory.sub, `/oauth/login/acme?actor=${id}`)
      assert.equal(refused.status, 403)
      assert.equal(linkIn(await refused.text()), undefined)
    })

    for (const [when, isSent] of [
      ['while the actor moves', false],
      ['after it has moved', true],
    ] as const)
      it(`needs a recent sign-in ${when} (MOV-14)`, async () => {
        let skewMs = 0
        const world = await movingWorld(start, { old: { signIn: [passkey()], now: () => Date.now() + skewMs } })
        const device = new SoftPasskey()
        const { browser, answer } = await signUpWith(world.old, device, 'Ada')
        const id = actorIn(answer)
        if (!isSent) world.network.fate = ({ method }) => (method === 'PUT' ? 'unreached' : 'arrives')
        assert.equal((await browser.fetchJson(`/${id}/move`, { to: newUrl })).status, 202)
        if (isSent) await hasLeft(world, id)
        const views = async (): Promise<readonly [string | undefined, string | undefined]> => {
          const page = await (await browser.get(`/${id}/www/move`)).text()
          const json = (await (await browser.get(`/${id}/move`, { accept: 'application/json' })).json()) as MoveView
          assert.equal(json.leaving?.state, isSent ? 'moved' : 'moving')
          if (linkIn(page) === undefined) assert.match(page, /Sign in again first\./)
          return [linkIn(page), linkIn(json.leaving?.claim_url ?? '')]
        }
        const fresh = await views()
        assert.ok(fresh[0])
        assert.equal(fresh[0], fresh[1])
        skewMs = 6 * minuteMs
        assert.deepEqual(await views(), [undefined, undefined])
        const again = new URLSearchParams({ actor: id, redirect: `/${id}/www/move`, fresh: '1' })
        await signInWith(world.old, device, `/oauth/login/passkey?${again.toString()}`, browser)
        assert.deepEqual(await views(), fresh)
      })

    it('ends with the redirect, and at once where the new service does not say whether it was used (R-MOVE-12)', async () => {
      let skewMs = 0
      const world = await movingWorld(start, { old: { now: () => Date.now() + skewMs } })
      const alice = await world.old.createActor('alice@example.com')
      await world.move(alice)
      await hasLeft(world, alice.id)
      await until(() => world.network.saw(/\/activation$/))
      // The outcome of a run that began before the clock went on would wait for the end of its lease.
      await world.old.settled()
      assert.equal(await isGone(world, alice.id), false)
      skewMs = 366 * dayMs
      ;(await world.old.app.running()).parts.jobs.wake()
      await until(() => isGone(world, alice.id))
      const older = await movingWorld(start)
      older.network.serve(newUrl, async (request) => {
        const answer = await older.home.app.fetch(request)
        return request.url.endsWith('/activation') && answer.status === 200 ? new Response('{}') : answer
      })
      const bob = await older.old.createActor('bob@example.com')
      await older.move(bob)
      await until(() => isGone(older, bob.id))
    })
  })

  describe('the sign-in page of the new service', () => {
    it('names the old address of an actor that waits for its owner, and no other (R-MOVE-12)', async () => {
      const idp = await provider()
      const world = await movingWorld(start, { home: signInAt(idp) })
      const alice = await world.old.createActor('alice@example.com')
      const page = async (id: string): Promise<string> =>
        (await world.home.request(`/login?actor=${id}`, { headers: { accept: 'text/html' } })).text()
      assert.doesNotMatch(await page(alice.id), /old\.example\.com/)
      await world.move(alice)
      await world.landed(alice)
      const waiting = await page(alice.id)
      assert.match(waiting, new RegExp(`This account came from ${oldUrl}/${alice.id}\\.`))
      assert.equal(linkIn(waiting), undefined)
      assert.doesNotMatch(waiting, /alice@example\.com/)
      await arrivedAt(world.home, alice)
      assert.doesNotMatch(await page(alice.id), /old\.example\.com/)
      assert.doesNotMatch(await page('unknown'), /old\.example\.com/)
    })
  })
})
