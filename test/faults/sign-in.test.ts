import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Events } from '../../src/app/declarations.ts'
import { randomUUID } from 'node:crypto'
import { openid } from '../../src/index.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import {
  actorIn,
  beginSinglePage,
  newPerson,
  peopleStored,
  sharedProvider,
  signIn,
  signInAt,
  singlePageReturn,
  assertNoSignIn,
  TestBrowser,
  wayBack,
  statusesOf,
} from '../support/sign-in.ts'
import { dumpStore } from '../support/store-dump.ts'
import type { Queries } from '../../src/store/store.ts'
import { bound, type FaultyStore, faulty } from '../support/stores.ts'

const provider = sharedProvider()

forEachService((start) => {
  async function startWith(options: StartOptions = {}): Promise<TestService> {
    return start({ ...signInAt(await provider()), spaRedirectOrigins: ['https://app.example.com'], ...options })
  }

  /** Creates an actor by the API under an address that its creator never proved. */
  async function squat(service: TestService, email: string): Promise<TestActor> {
    const actor = await service.createActor(email)
    assert.equal((await actor.request('PUT', '/properties/trap', 'set')).status, 204)
    return actor
  }

  async function claimOn(browser: TestBrowser, sub: string): Promise<{ claim: string; page: string }> {
    const answer = await signIn(browser, await provider(), sub)
    const page = await answer.text()
    assert.equal(answer.status, 200, page)
    return { claim: /name="claim" value="([\w-]{43})"/.exec(page)?.[1] ?? '', page }
  }

  const bearerStatus = async (service: TestService, id: string, token: string): Promise<number> =>
    (await service.request(`/${id}/properties`, { headers: { authorization: `Bearer ${token}` } })).status

  async function sessionByPassphrase(service: TestService, { id, passphrase }: TestActor): Promise<string> {
    const answer = await service.request('/oauth/spa/token', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'passphrase', actor_id: id, passphrase }),
    })
    return ((await answer.json()) as { access_token: string }).access_token
  }

  describe('a sign-in while the commit of the first one has reached only some servers of a sharded database', () => {
    /** Hides the account in the first reads, as the server of the actor does until the commit reaches it. */
    async function halfCommitted(hidden: number): Promise<{ service: TestService; hideNow: () => void }> {
      let left = 0
      const hiding = (q: Queries): Queries => ({
        isSharded: q.isSharded,
        all: (sql, ...params) => q.all(sql, ...params),
        async get(sql, ...params) {
          if (!sql.includes('FROM account JOIN actor') || left === 0) return q.get(sql, ...params)
          left -= 1
          return undefined
        },
      })
      const service = await startWith({
        wrapStore: (inner) => ({
          ...bound(inner),
          snapshot: (work) => inner.snapshot((q) => work(hiding(q))),
        }),
      })
      return { service, hideNow: () => (left = hidden) }
    }

    it('waits for the account, and asks for nothing (CON-01)', async () => {
      const idp = await provider()
      const { service, hideNow } = await halfCommitted(3)
      const { sub } = newPerson(idp)
      const id = actorIn(await signIn(new TestBrowser(service), idp, sub))
      assert.notEqual(id, '')
      hideNow()
      assert.equal(actorIn(await signIn(new TestBrowser(service), idp, sub)), id)
    })

    it('is refused with 503 when the account does not appear (CON-01)', async () => {
      const idp = await provider()
      const { service, hideNow } = await halfCommitted(100)
      const { sub } = newPerson(idp)
      assert.notEqual(actorIn(await signIn(new TestBrowser(service), idp, sub)), '')
      hideNow()
      assert.equal((await signIn(new TestBrowser(service), idp, sub)).status, 503)
    })
  })

  describe('an actor that a squatter created under another’s address', () => {
    it('is never joined silently: the person who proves the address is asked first (IDP-08)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const squatted = await squat(service, email)
      const browser = new TestBrowser(service)
      const { page } = await assertNoSignIn(service, () => claimOn(browser, sub))
      assert.ok(page.includes(email))
      assert.ok(!page.includes(squatted.id))
      assert.deepEqual([...browser.cookies.keys()], ['troupe-browser'])
    })

    it('keeps its data under another name, and cannot read the person’s actor (IDP-08)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const squatted = await squat(service, email)
      const theirs = await sessionByPassphrase(service, squatted)
      const browser = new TestBrowser(service)
      const { claim } = await claimOn(browser, sub)
      const answer = await browser.post('/oauth/claim', { claim, choice: 'new' })
      const id = actorIn(answer)
      assert.equal(answer.status, 302)
      assert.notEqual(id, squatted.id)
      const own = await service.app.actors.get(id)
      assert.equal(own?.creator, email)
      assert.deepEqual(await own?.all(), {})
      await own?.set('diary', 'secret')
      // Neither the passphrase nor an earlier session opens the person’s actor.
      for (const authorization of [squatted.authorization, `Bearer ${theirs}`]) {
        assert.equal(
          (await service.request(`/${id}/properties`, { headers: { authorization } })).status,
          403 - 2 * Number(authorization.startsWith('Bearer')),
        )
      }
      assert.equal(await bearerStatus(service, squatted.id, theirs), 401)
      const old = await service.app.actors.get(squatted.id)
      assert.equal(old?.creator, `unproven:${email}:${squatted.id}`)
      const name = `unproven:${email}:${squatted.id}:${squatted.passphrase}`
      const kept = await service.request(`/${squatted.id}/properties`, {
        headers: { authorization: `Basic ${btoa(name)}` },
      })
      assert.deepEqual(await kept.json(), { trap: 'set' })
      assert.equal((await service.app.actors.findByCreator(email))?.id, id)
      assert.equal(actorIn(await signIn(new TestBrowser(service), await provider(), sub)), id)
    })

    it('can be joined by the passphrase if the person created it, with all its data (IDP-08)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const other = await squat(service, email)
      const mine = await squat(service, email)
      const browser = new TestBrowser(service)
      const { claim } = await claimOn(browser, sub)
      const answer = await browser.post('/oauth/claim', { claim, choice: 'join', passphrase: mine.passphrase })
      assert.equal(answer.status, 302)
      assert.equal(actorIn(answer), mine.id)
      const actor = await service.app.actors.get(mine.id)
      assert.equal(await actor?.get('trap'), 'set')
      assert.equal((await actor?.signIn.get())?.isProven, true)
      assert.equal((await mine.request('GET', '/properties')).status, 200)
      assert.equal((await service.app.actors.get(other.id))?.creator, `unproven:${email}:${other.id}`)
      assert.equal(actorIn(await signIn(new TestBrowser(service), await provider(), sub)), mine.id)
    })

    it('hides no actor of the person, however many older and younger ones there are (IDP-26)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const { parts, store } = await service.app.running()
      const squats = async (prefix: string): Promise<void> => {
        for (let made = 0; made < 110; made++)
          await parts.actors.create({ creator: email, id: `${prefix}${String(made).padStart(3, '0')}` })
      }
      await squats('a')
      const mine = await squat(service, email)
      await squats('z')
      // An address that was typed and not verified makes accounts of the creator, too.
      await store.write(async (tx) => {
        for (let made = 0; made < 105; made++)
          await tx.run(
            `INSERT INTO account (actor_id, identifier, verified, fields, provider_tokens) VALUES ($1, $2, 0, '{}', '')`,
            `a${String(made).padStart(3, '0')}`,
            `typed ${made}`,
          )
      })
      const browser = new TestBrowser(service)
      const { claim } = await claimOn(browser, sub)
      const wrong = await browser.post('/oauth/claim', { claim, choice: 'join', passphrase: 'wrong' })
      assert.equal(wrong.status, 403)
      const answer = await browser.post('/oauth/claim', { claim, choice: 'join', passphrase: mine.passphrase })
      assert.deepEqual([answer.status, actorIn(answer)], [302, mine.id])
      const [own] = await parts.passwordAccess.list(mine.id)
      assert.equal(own?.actorId, mine.id)
    })

    it('is not joined by a wrong passphrase, whose response reveals nothing and allows another attempt (IDP-08, WEB-12)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const mine = await squat(service, email)
      const stranger = await squat(service, 'stranger@example.com')
      const browser = new TestBrowser(service)
      const { claim } = await claimOn(browser, sub)
      for (const passphrase of ['wrong', '', stranger.passphrase]) {
        const answer = await assertNoSignIn(service, () =>
          browser.post('/oauth/claim', { claim, choice: 'join', passphrase }),
        )
        assert.equal(answer.status, 403)
        assert.match(await answer.text(), /role="alert"[^]*That passphrase is wrong\./)
      }
      assert.equal(
        actorIn(await browser.post('/oauth/claim', { claim, choice: 'join', passphrase: mine.passphrase })),
        mine.id,
      )
    })

    it('can be claimed only by the browser that was asked, and once (IDP-08, IDP-03)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const squatted = await squat(service, email)
      const browser = new TestBrowser(service)
      const { claim } = await claimOn(browser, sub)
      const thief = new TestBrowser(service)
      await thief.get('/oauth/login/acme')
      for (const form of [
        { claim, choice: 'new' },
        { claim, choice: 'join', passphrase: squatted.passphrase },
        { choice: 'new' },
      ]) {
        assert.equal((await assertNoSignIn(service, () => thief.post('/oauth/claim', form))).status, 400)
      }
      const answers = await Promise.all(
        [1, 2, 3].map(() => new Sibling(browser).post('/oauth/claim', { claim, choice: 'new' })),
      )
      assert.deepEqual(statusesOf(answers), [302, 400, 400])
    })

    it('gives up the name without a question when no page can be shown (IDP-08)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const squatted = await squat(service, email)
      const session = (await singlePageReturn(service, await provider(), sub)).get('session') ?? ''
      const { actor_id } = (await (await service.request(`/oauth/spa/session/${session}`)).json()) as {
        actor_id: string
      }
      assert.notEqual(actor_id, squatted.id)
      assert.equal((await service.app.actors.get(actor_id))?.creator, email)
    })

    it('gives up the name when creators are unique, too (IDP-08)', async () => {
      const service = await startWith({ uniqueCreator: true })
      const { sub, email } = newPerson(await provider())
      await squat(service, email)
      const browser = new TestBrowser(service)
      const { claim } = await claimOn(browser, sub)
      const id = actorIn(await browser.post('/oauth/claim', { claim, choice: 'new' }))
      assert.equal((await service.app.actors.findByCreator(email))?.id, id)
      await assert.rejects(service.app.actors.create({ creator: email }), /already/)
    })

    it('takes nothing over when it is created after the person signed in (IDP-08)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const id = actorIn(await signIn(new TestBrowser(service), await provider(), sub))
      const squatted = await squat(service, email)
      assert.equal(actorIn(await signIn(new TestBrowser(service), await provider(), sub)), id)
      assert.equal(
        (await service.request(`/${id}`, { headers: { authorization: squatted.authorization } })).status,
        403,
      )
    })

    it('takes nothing over through the property that names the creator (IDP-08)', async () => {
      const service = await startWith({ forceEmailAsCreator: true })
      const idp = await provider()
      const { sub, email } = newPerson(await provider())
      const attacker = newPerson(await provider())
      const theirs = actorIn(await signIn(new TestBrowser(service), idp, attacker.sub))
      await (await service.app.actors.get(theirs))?.set('email', email)
      const browser = new TestBrowser(service)
      const { claim, page } = await claimOn(browser, sub)
      // Its owner proved another address, so the page does not offer to join it by passphrase.
      assert.ok(!page.includes('name="passphrase"'))
      const id = actorIn(await browser.post('/oauth/claim', { claim, choice: 'new' }))
      assert.notEqual(id, theirs)
      assert.equal(actorIn(await signIn(new TestBrowser(service), idp, attacker.sub)), theirs)
    })
  })

  describe('an actor whose owner typed another’s address', () => {
    interface Typed {
      readonly attacker: TestBrowser
      readonly theirs: string
      readonly link: Events['email_verification_required']
    }

    async function type(
      service: TestService,
      sent: Events['email_verification_required'][],
      email: string,
    ): Promise<Typed> {
      const idp = await provider()
      const sub = randomUUID()
      idp.people.set(sub, {})
      const attacker = new TestBrowser(service)
      const asked = await signIn(attacker, idp, sub)
      const session = new URL(asked.headers.get('location') ?? '').searchParams.get('session') ?? ''
      const theirs = actorIn(await attacker.post('/oauth/email', { session, email }))
      return { attacker, theirs, link: sent.at(-1) ?? assert.fail() }
    }

    async function startListening(): Promise<{ service: TestService; sent: Events['email_verification_required'][] }> {
      const sent: Events['email_verification_required'][] = []
      const service = await startWith({
        declare: (app) => app.on('email_verification_required', (event) => void sent.push(event)),
      })
      return { service, sent }
    }

    it('is never joined: the person who proves the address gets a new actor, and the link is invalid (IDP-21)', async () => {
      const { service, sent } = await startListening()
      const { sub, email } = newPerson(await provider())
      const { attacker, theirs, link } = await type(service, sent, email)
      const token = attacker.cookies.get('oauth_token') ?? ''
      const browser = new TestBrowser(service)
      const { claim, page } = await claimOn(browser, sub)
      assert.ok(!page.includes('name="passphrase"'))
      const id = actorIn(await browser.post('/oauth/claim', { claim, choice: 'new' }))
      assert.notEqual(id, theirs)
      assert.equal(await bearerStatus(service, theirs, token), 401)
      assert.equal((await attacker.post('/oauth/email', { verify: link.token })).status, 403)
      assert.equal((await service.app.actors.get(theirs))?.creator, `unproven:${email}:${theirs}`)
    })

    it('is not joined when the owner of the address follows the link elsewhere, which only confirms the address (IDP-21, IDP-18)', async () => {
      const { service, sent } = await startListening()
      const { sub, email } = newPerson(await provider())
      const { theirs, link } = await type(service, sent, email)
      const victim = new TestBrowser(service)
      assert.equal((await victim.post('/oauth/email', { verify: link.token })).status, 200)
      const known = await (await service.app.actors.get(theirs))?.signIn.get()
      assert.deepEqual([known?.emailVerified, known?.isProven], [true, false])
      const { claim } = await claimOn(victim, sub)
      assert.notEqual(actorIn(await victim.post('/oauth/claim', { claim, choice: 'new' })), theirs)
    })

    it('is joined later when the person followed the link in the browser in which they typed the address (IDP-21)', async () => {
      const { service, sent } = await startListening()
      const { sub, email } = newPerson(await provider())
      const { attacker: browser, theirs, link } = await type(service, sent, email)
      assert.equal((await browser.post('/oauth/email', { verify: link.token })).status, 200)
      assert.equal(actorIn(await signIn(new TestBrowser(service), await provider(), sub)), theirs)
    })

    it('is joined later when the person followed the link with a session of the actor in another browser (IDP-21)', async () => {
      const { service, sent } = await startListening()
      const { sub, email } = newPerson(await provider())
      const { attacker: first, theirs, link } = await type(service, sent, email)
      const second = new TestBrowser(service)
      second.cookies.set('oauth_token', first.cookies.get('oauth_token') ?? '')
      assert.equal((await second.post('/oauth/email', { verify: link.token })).status, 200)
      assert.equal(actorIn(await signIn(new TestBrowser(service), await provider(), sub)), theirs)
    })

    it('is joined later when the same provider vouches for the address (IDP-21)', async () => {
      const { service, sent } = await startListening()
      const idp = await provider()
      const sub = randomUUID()
      idp.people.set(sub, {})
      const browser = new TestBrowser(service)
      const asked = await signIn(browser, idp, sub)
      const session = new URL(asked.headers.get('location') ?? '').searchParams.get('session') ?? ''
      const email = `${sub}@example.com`
      const id = actorIn(await browser.post('/oauth/email', { session, email }))
      assert.equal(sent.length, 1)
      idp.people.set(sub, { email, email_verified: true })
      assert.equal(actorIn(await signIn(new TestBrowser(service), idp, sub)), id)
      const known = await (await service.app.actors.get(id))?.signIn.get()
      assert.deepEqual(
        [known?.isProven, known?.emailVerified, known?.fields['email_verified']],
        [true, true, undefined],
      )
    })

    it('cannot result from an application’s form in a victim’s browser (IDP-21)', async () => {
      const { service } = await startListening()
      const idp = await provider()
      const sub = randomUUID()
      idp.people.set(sub, {})
      const session = (await singlePageReturn(service, idp, sub, { token_delivery: 'cookie' })).get('session') ?? ''
      const victim = new TestBrowser(service)
      assert.equal((await victim.get(`/oauth/email?session=${session}`)).status, 400)
      assert.equal(
        (await assertNoSignIn(service, () => victim.post('/oauth/email', { session, email: 'v@example.com' }))).status,
        400,
      )
      const entry = { session, email: `${sub}@example.com` }
      assert.equal((await assertNoSignIn(service, () => victim.fetchJson('/oauth/email', entry))).status, 400)
      const entered = await service.request('/oauth/email', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(entry),
      })
      assert.equal(entered.status, 200)
      assert.deepEqual(entered.headers.getSetCookie(), [])
    })
  })

  describe('actors created with a verified address', () => {
    it('are joined by the person who proves the address (IDP-08)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const squatted = await squat(service, email)
      const { actor } = await service.app.actors.create({ creator: email, verified: true })
      assert.equal((await service.app.actors.get(squatted.id))?.creator, `unproven:${email}:${squatted.id}`)
      assert.equal(actorIn(await signIn(new TestBrowser(service), await provider(), sub)), actor.id)
      await assert.rejects(
        service.app.actors.create({ creator: email, verified: true }),
        /verified as the owner of another/,
      )
    })
  })

  describe('concurrent first sign-ins of one person', () => {
    it('create one actor, fire actor_created once, and sign in every browser (CON-01, R-OC-01, R-EVT-01)', async () => {
      const created: string[] = []
      const service = await startWith({
        declare: (app) => app.on('actor_created', ({ actor }) => void created.push(actor.id)),
      })
      const idp = await provider()
      const { sub } = newPerson(await provider())
      const waiting = await Promise.all(
        Array.from({ length: 8 }, async () => {
          const browser = new TestBrowser(service)
          return { browser, back: await wayBack(browser, idp, sub) }
        }),
      )
      const answers = await Promise.all(waiting.map(({ browser, back }) => browser.get(back.href)))
      const ids = new Set(answers.map(actorIn))
      assert.equal(ids.size, 1)
      assert.deepEqual(created, [...ids])
      for (const { browser } of waiting) {
        assert.equal(await bearerStatus(service, created[0] ?? '', browser.cookies.get('oauth_token') ?? ''), 200)
      }
      const stored = await peopleStored(service)
      assert.deepEqual([stored['actor']?.length, stored['account']?.length, stored['token_chain']?.length], [1, 1, 8])
    })

    it('show no claim page when another sign-in of the person finishes in between (CON-01, IDP-08)', async () => {
      let compete: (() => Promise<unknown>) | null = null
      const between = async <R>(sql: string, rows: R): Promise<R> => {
        const work = sql.includes(`kind = 'subject'`) ? compete : null
        if (work !== null) {
          compete = null
          await work()
        }
        return rows
      }
      const watched = (q: Queries): Queries => ({
        isSharded: q.isSharded,
        all: async (sql, ...params) => between(sql, await q.all(sql, ...params)),
        get: async (sql, ...params) => between(sql, await q.get(sql, ...params)),
      })
      const service = await startWith({
        wrapStore: (inner) => ({
          ...faulty(inner),
          read: (work) => inner.read((q) => work(watched(q))),
          snapshot: (work) => inner.snapshot((q) => work(watched(q))),
        }),
      })
      const idp = await provider()
      const { sub } = newPerson(await provider())
      const browser = new TestBrowser(service)
      const back = await wayBack(browser, idp, sub)
      let first = ''
      compete = async () => (first = actorIn(await signIn(new TestBrowser(service), idp, sub)))
      const answer = await browser.get(back.href)
      assert.equal(answer.status, 302)
      assert.equal(actorIn(answer), first)
      assert.equal((await peopleStored(service))['actor']?.length, 1)
    })

    it('create one actor when creators are unique, too (CON-01)', async () => {
      const service = await startWith({ uniqueCreator: true })
      const idp = await provider()
      const { sub } = newPerson(await provider())
      const waiting = await Promise.all(
        Array.from({ length: 4 }, async () => {
          const browser = new TestBrowser(service)
          return { browser, back: await wayBack(browser, idp, sub) }
        }),
      )
      const answers = await Promise.all(waiting.map(({ browser, back }) => browser.get(back.href)))
      assert.equal(new Set(answers.map(actorIn)).size, 1)
    })
  })

  describe('a store failure during a sign-in', () => {
    async function everyStatement(
      sign: (browser: TestBrowser) => Promise<{ begin: () => Promise<Response>; retry: () => Promise<Response> }>,
      browserOf: () => Promise<{ browser: TestBrowser; store: FaultyStore; service: TestService }>,
    ): Promise<void> {
      let failed = 0
      for (let at = 1; at < 60; at += 1) {
        const { browser, store, service } = await browserOf()
        const { begin, retry } = await sign(browser)
        const before = await peopleStored(service)
        store.plan({ at })
        const answer = await begin()
        const isPlanned = store.failed > 0
        store.plan()
        if (!isPlanned) {
          assert.equal(answer.status, 302)
          break
        }
        failed += 1
        if (answer.status === 302) continue
        assert.equal(answer.status, 503, `statement ${at}`)
        const { deleted_actor: _mark, ...rest } = await peopleStored(service)
        const { deleted_actor: _none, ...was } = before
        assert.deepEqual(rest, was, `after a fault of statement ${at}`)
        assert.equal((await retry()).status, 302)
      }
      assert.ok(failed > 8, `only ${failed} statements`)
    }

    it('leaves no partial actor, whichever statement fails, and the next attempt succeeds (IDP-19, DUR-04)', async () => {
      let store: FaultyStore | undefined
      const service = await startWith({ wrapStore: (inner) => (store = faulty(inner)) })
      const idp = await provider()
      await everyStatement(
        async (browser) => {
          const { sub } = newPerson(await provider())
          const back = await wayBack(browser, idp, sub)
          return { begin: () => browser.get(back.href), retry: () => signIn(new TestBrowser(service), idp, sub) }
        },
        async () => ({ browser: new TestBrowser(service), store: store ?? assert.fail(), service }),
      )
    })

    it('leaves no partial actor of a typed address (IDP-09, DUR-04)', async () => {
      let store: FaultyStore | undefined
      const service = await startWith({ wrapStore: (inner) => (store = faulty(inner)) })
      const idp = await provider()
      await everyStatement(
        async (browser) => {
          const sub = randomUUID()
          idp.people.set(sub, {})
          const enter = async (other: TestBrowser): Promise<() => Promise<Response>> => {
            const asked = await signIn(other, idp, sub)
            const session = new URL(asked.headers.get('location') ?? '').searchParams.get('session') ?? ''
            return () => other.post('/oauth/email', { session, email: `${sub}@example.com` })
          }
          const begin = await enter(browser)
          return { begin, retry: async () => (await enter(new TestBrowser(service)))() }
        },
        async () => ({ browser: new TestBrowser(service), store: store ?? assert.fail(), service }),
      )
    })

    it('is reported to an application as server_error without details, and stores nothing (R-OC-16, DUR-04)', async () => {
      let store: FaultyStore | undefined
      const service = await startWith({ wrapStore: (inner) => (store = faulty(inner)) })
      const { sub } = newPerson(await provider())
      const { url } = await (await provider()).signIn(await beginSinglePage(service), sub)
      store?.plan({ matching: /INSERT INTO token_chain/ })
      const answer = await assertNoSignIn(service, () => service.request(url.href.slice(service.url.length)), [
        'deleted_actor',
      ])
      store?.plan()
      const query = new URL(answer.headers.get('location') ?? 'none:').searchParams
      assert.deepEqual([query.get('error'), query.get('error_description')], ['server_error', 'The service failed'])
    })

    it('joins an actor completely or not at all (IDP-08, DUR-04)', async () => {
      let store: FaultyStore | undefined
      const service = await startWith({ wrapStore: (inner) => (store = faulty(inner)) })
      await everyStatement(
        async (browser) => {
          const { sub, email } = newPerson(await provider())
          const mine = await squat(service, email)
          const { claim } = await claimOn(browser, sub)
          const join = (): Promise<Response> =>
            browser.post('/oauth/claim', { claim, choice: 'join', passphrase: mine.passphrase })
          return { begin: join, retry: join }
        },
        async () => ({ browser: new TestBrowser(service), store: store ?? assert.fail(), service }),
      )
    })
  })

  describe('an unreachable provider', () => {
    it('gives 502 at the start of a sign-in, on pages and for applications, and leaves the front page available (IDP-19)', async () => {
      const { clientId, clientSecret } = await provider()
      const gone = openid({ name: 'gone', issuer: 'http://127.0.0.1:9', clientId, clientSecret })
      const service = await startWith({ signIn: [gone] })
      const browser = new TestBrowser(service)
      assert.equal((await assertNoSignIn(service, () => browser.get('/oauth/login/gone'))).status, 502)
      assert.equal((await browser.fetchJson('/oauth/spa/authorize', {})).status, 502)
      assert.equal((await browser.get('/login')).status, 200)
      const config = await service.request('/oauth/config')
      assert.equal(config.status, 200)
    })
  })

  describe('the rate limits of a sign-in', () => {
    const only = (limits: StartOptions['rateLimits']): StartOptions => ({ rateLimits: { '*': null, ...limits } })

    it('reject further passphrases in a claim, even the right one (RATE-01)', async () => {
      const service = await startWith(only({ 'passphrase/target': { count: 3, seconds: 600 } }))
      const { sub, email } = newPerson(await provider())
      const mine = await squat(service, email)
      const browser = new TestBrowser(service)
      const { claim } = await claimOn(browser, sub)
      const join = async (passphrase: string): Promise<number> =>
        (await browser.post('/oauth/claim', { claim, choice: 'join', passphrase })).status
      assert.deepEqual(
        [await join('a'), await join('b'), await join('c'), await join(mine.passphrase)],
        [403, 403, 403, 429],
      )
      assert.equal((await browser.post('/oauth/claim', { claim, choice: 'new' })).status, 302)
    })

    it('reject further mail to an address in any spelling (RATE-04)', async () => {
      const service = await startWith({
        ...only({ 'email_entry/target': { count: 1, seconds: 3600 } }),
        declare: (app) => app.on('oauth_success', ({ email }) => !email.startsWith('spam')),
      })
      const idp = await provider()
      const sub = randomUUID()
      idp.people.set(sub, {})
      const enter = async (email: string): Promise<number> => {
        const browser = new TestBrowser(service)
        const asked = await signIn(browser, idp, sub)
        const session = new URL(asked.headers.get('location') ?? '').searchParams.get('session') ?? ''
        return (await browser.post('/oauth/email', { session, email })).status
      }
      assert.deepEqual(
        [
          await enter('spam@example.com'),
          await enter('SPAM@Example.com'),
          // Compatibility normalization would change this address (record 101).
          await enter('SPAM＠example.com'),
          await enter('other@example.com'),
        ],
        [403, 429, 400, 302],
      )
    })

    it('reject sign-ins before the provider or the store is called (RATE-03, RATE-04)', async () => {
      const service = await startWith(only({ 'sign_in/total': { count: 2, seconds: 60 } }))
      const browser = new TestBrowser(service)
      const statuses: number[] = []
      for (let count = 0; count < 4; count += 1) statuses.push((await browser.get('/oauth/login/acme')).status)
      assert.deepEqual(statuses, [302, 302, 429, 429])
      assert.equal((await browser.get('/oauth/callback?code=x&state=y')).status, 429)
      assert.equal((await browser.fetchJson('/oauth/spa/authorize', {})).status, 429)
    })
  })

  describe('the stored records of a sign-in', () => {
    it('hold no token, state, ticket, link or handle in clear, and neither does the log (SEC-01, SEC-02, SEC-04)', async () => {
      const sent: string[] = []
      const service = await startWith({
        declare: (app) => app.on('email_verification_required', ({ token }) => void sent.push(token)),
      })
      const idp = await provider()
      const { sub } = newPerson(await provider())
      const browser = new TestBrowser(service)
      const back = await wayBack(browser, idp, sub)
      const id = actorIn(await browser.get(back.href))
      const tokens = (await (await service.app.actors.get(id))?.signIn.providerTokens()) ?? {}
      const mute = randomUUID()
      idp.people.set(mute, {})
      const typing = new TestBrowser(service)
      const asked = await signIn(typing, idp, mute)
      const session = new URL(asked.headers.get('location') ?? '').searchParams.get('session') ?? ''
      await typing.post('/oauth/email', { session, email: `${mute}@example.com` })
      const open = await wayBack(browser, idp, sub)
      const secrets = [
        back.searchParams.get('state'),
        back.searchParams.get('code'),
        open.searchParams.get('state'),
        open.searchParams.get('code'),
        tokens.accessToken,
        session,
        ...sent,
        ...[browser, typing].flatMap(({ cookies }) =>
          // The cookie that marks an earlier sign-in is not secret.
          [...cookies].flatMap(([name, value]) => (name === 'troupe-signed-in' ? [] : [value])),
        ),
        idp.clientSecret,
      ]
      const { store } = await service.app.running()
      const kept = JSON.stringify([await dumpStore(store), service.log])
      assert.ok(kept.includes(id))
      for (const secret of secrets) {
        assert.ok(typeof secret === 'string' && secret.length > 10)
        assert.ok(!kept.includes(secret), secret)
      }
    })
  })
})

/** A second tab of the same browser. */
class Sibling extends TestBrowser {
  constructor(other: TestBrowser) {
    super(other.service)
    for (const [name, value] of other.cookies) this.cookies.set(name, value)
  }
}
