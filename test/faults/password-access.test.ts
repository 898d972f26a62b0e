import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Events } from '../../src/app/declarations.ts'
import { signIn as signInByPassphrase } from '../support/sessions.ts'
import { basic, forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import {
  actorIn,
  newPerson,
  peopleStored,
  sharedProvider,
  signIn,
  signInAt,
  singlePageReturn,
  TestBrowser,
} from '../support/sign-in.ts'

const provider = sharedProvider()

/** Signs the user in to their own actor through a single-page application. */
async function singlePageSignIn(service: TestService, sub: string): Promise<{ id: string; token: string }> {
  const session = (await singlePageReturn(service, await provider(), sub)).get('session') ?? ''
  const answer = await service.request(`/oauth/spa/session/${session}`)
  const { actor_id, access_token } = (await answer.json()) as { actor_id: string; access_token: string }
  return { id: actor_id, token: access_token }
}

interface Listed {
  readonly actor_id: string
  readonly creator: string
  readonly own: boolean
  readonly decision: string
}

async function listed(service: TestService, { id, token }: { id: string; token: string }): Promise<object[]> {
  const answer = await service.request(`/${id}/password-access`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(answer.status, 200)
  return ((await answer.json()) as Listed[]).map(({ actor_id, creator, own, decision }) => ({
    actor_id,
    creator,
    own,
    decision,
  }))
}

async function decide(
  service: TestService,
  id: string,
  authorization: string,
  created: string,
  body: unknown,
): Promise<number> {
  const answer = await service.request(`/${id}/password-access/${created}`, {
    method: 'PUT',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return answer.status
}

const status = async (actor: TestActor): Promise<number> => (await actor.request('GET', '/properties')).status

forEachService((start) => {
  const heard: Events['creator_superseded'][] = []

  async function startWith(options: StartOptions = {}): Promise<TestService> {
    heard.length = 0
    return start({
      ...signInAt(await provider()),
      spaRedirectOrigins: ['https://app.example.com'],
      declare: (app) => void app.on('creator_superseded', (event) => void heard.push(event)),
      ...options,
    })
  }

  describe('a program that created an actor, after its owner signs in to a single-page application', () => {
    it('keeps its Basic credentials and its data, and cannot read the owner’s actor (IDP-20)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const program = await service.createActor(email)
      assert.equal((await program.request('PUT', '/properties/color', 'red')).status, 204)
      const owner = await singlePageSignIn(service, sub)
      assert.notEqual(owner.id, program.id)
      const written = await service.request(`/${owner.id}/properties/diary`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'text/plain' },
        body: 'secret',
      })
      assert.equal(written.status, 204)

      assert.equal((await program.request('PUT', '/properties/color', 'blue')).status, 204)
      assert.deepEqual(await (await program.request('GET', '/properties')).json(), { color: 'blue' })
      for (const path of ['', '/properties', '/properties/diary', '/password-access']) {
        const answer = await service.request(`/${owner.id}${path}`, {
          headers: { authorization: program.authorization },
        })
        assert.equal(answer.status, 403, path)
      }
      assert.equal((await service.app.actors.findByCreator(email))?.id, owner.id)
    })

    it('is reported to the application by one event (IDP-20)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const [first, second] = [await service.createActor(email), await service.createActor(email)]
      const owner = await singlePageSignIn(service, sub)
      assert.deepEqual(
        heard.map(({ actor, creator, superseded }) => [actor.id, creator, [...superseded].sort()]),
        [[owner.id, email, [first.id, second.id].sort()]],
      )
      await singlePageSignIn(service, sub)
      assert.equal(heard.length, 1)
    })

    it('is not reported when no program used the name', async () => {
      const service = await startWith()
      const { sub } = newPerson(await provider())
      const owner = await singlePageSignIn(service, sub)
      assert.deepEqual(heard, [])
      assert.deepEqual(await listed(service, owner), [])
    })

    it('remains subject to the owner’s decision: kept, then revoked permanently (IDP-20)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const program = await service.createActor(email)
      const session = await signInByPassphrase(service, program)
      const owner = await singlePageSignIn(service, sub)
      const bearer = `Bearer ${owner.token}`
      const record = { actor_id: program.id, creator: email, own: false }
      assert.deepEqual(await listed(service, owner), [{ ...record, decision: 'pending' }])

      assert.equal(await decide(service, owner.id, bearer, program.id, { decision: 'keep' }), 204)
      assert.deepEqual(await listed(service, owner), [{ ...record, decision: 'kept' }])
      assert.equal(await status(program), 200)
      const later = await signInByPassphrase(service, program)

      assert.equal(await decide(service, owner.id, bearer, program.id, { decision: 'revoke' }), 204)
      assert.deepEqual(await listed(service, owner), [{ ...record, decision: 'revoked' }])
      assert.equal(await status(program), 403)
      for (const token of [session, later]) {
        const answer = await service.request(`/${program.id}/properties`, {
          headers: { authorization: `Bearer ${token}` },
        })
        assert.equal(answer.status, 401)
      }
      const renamed = (await service.app.actors.get(program.id))?.creator ?? ''
      for (const user of [email, renamed]) {
        const answer = await service.request(`/${program.id}`, {
          headers: { authorization: basic(user, program.passphrase) },
        })
        assert.equal(answer.status, 403, user)
      }
      assert.equal(await decide(service, owner.id, bearer, program.id, { decision: 'revoke' }), 204)
      assert.equal(await decide(service, owner.id, bearer, program.id, { decision: 'keep' }), 409)
      assert.equal(await status(program), 403)
    })

    it('cannot evade a later revocation by changing its name (IDP-20)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const program = await service.createActor(email)
      const owner = await singlePageSignIn(service, sub)
      const renamed = await program.request('PUT', '/trust/trustee', { creator: 'another name' })
      assert.equal(renamed.status, 204)
      const asRenamed = { headers: { authorization: basic('another name', program.passphrase) } }
      assert.equal((await service.request(`/${program.id}/properties`, asRenamed)).status, 200)
      assert.equal(await decide(service, owner.id, `Bearer ${owner.token}`, program.id, { decision: 'revoke' }), 204)
      assert.equal((await service.request(`/${program.id}/properties`, asRenamed)).status, 403)
    })

    it('does not regain the name by claiming it again, because the proven actor has precedence (IDP-20)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const program = await service.createActor(email)
      const owner = await singlePageSignIn(service, sub)
      assert.equal((await program.request('PUT', '/trust/trustee', { creator: email })).status, 204)
      assert.equal((await service.app.actors.findByCreator(email))?.id, owner.id)
    })

    it('keeps its credentials when creators are unique, too (IDP-20)', async () => {
      const service = await startWith({ uniqueCreator: true })
      const { sub, email } = newPerson(await provider())
      const program = await service.createActor(email)
      const owner = await singlePageSignIn(service, sub)
      assert.equal(await status(program), 200)
      assert.equal((await service.app.actors.findByCreator(email))?.id, owner.id)
    })

    it('is subject to the decision of the owner’s next actor when the first one was deleted (IDP-20)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const program = await service.createActor(email)
      const first = await singlePageSignIn(service, sub)
      await service.app.actors.delete(first.id)
      assert.equal(await status(program), 200)
      const second = await singlePageSignIn(service, sub)
      assert.deepEqual(await listed(service, second), [
        { actor_id: program.id, creator: email, own: false, decision: 'pending' },
      ])
      assert.equal(await decide(service, second.id, `Bearer ${second.token}`, program.id, { decision: 'revoke' }), 204)
      assert.equal(await status(program), 403)
    })
  })

  describe('a decision about a program’s password access', () => {
    it('is rejected from all callers except the person who proved the name (IDP-20, ACL-01)', async () => {
      const service = await startWith()
      const [ada, bob] = [newPerson(await provider()), newPerson(await provider())]
      const program = await service.createActor(ada.email)
      const stranger = await service.createActor('stranger@example.com')
      const owner = await singlePageSignIn(service, ada.sub)
      const other = await singlePageSignIn(service, bob.sub)
      const before = await peopleStored(service)
      const refused: readonly (readonly [id: string, authorization: string, created: string, status: number])[] = [
        [owner.id, `Bearer ${other.token}`, program.id, 403],
        [owner.id, program.authorization, program.id, 403],
        [other.id, `Bearer ${other.token}`, program.id, 404],
        [other.id, `Bearer ${other.token}`, owner.id, 404],
        [owner.id, `Bearer ${owner.token}`, other.id, 404],
        [owner.id, `Bearer ${owner.token}`, stranger.id, 404],
        [owner.id, `Bearer ${owner.token}`, owner.id, 404],
        [owner.id, `Bearer ${owner.token}`, 'none', 404],
        [program.id, program.authorization, program.id, 404],
        [program.id, program.authorization, owner.id, 404],
      ]
      for (const [id, authorization, created, expected] of refused)
        assert.equal(await decide(service, id, authorization, created, { decision: 'revoke' }), expected)
      for (const body of [{}, { decision: 'maybe' }, { decision: true }, [], 'revoke'])
        assert.equal(await decide(service, owner.id, `Bearer ${owner.token}`, program.id, body), 400)
      const after = await peopleStored(service)
      assert.deepEqual(after['password_access'], before['password_access'])
      assert.equal(await status(program), 200)
      assert.equal(await status(stranger), 200)
    })

    it('about an actor that the owner joined needs a session, because the program has the same passphrase (IDP-20)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const program = await service.createActor(email)
      const browser = new TestBrowser(service)
      const page = await (await signIn(browser, await provider(), sub)).text()
      const claim = /name="claim" value="([\w-]{43})"/.exec(page)?.[1] ?? ''
      const joined = await browser.post('/oauth/claim', { claim, choice: 'join', passphrase: program.passphrase })
      assert.equal(actorIn(joined), program.id)
      const token = browser.cookies.get('oauth_token') ?? ''
      assert.deepEqual(await listed(service, { id: program.id, token }), [
        { actor_id: program.id, creator: email, own: true, decision: 'pending' },
      ])
      assert.equal(await decide(service, program.id, program.authorization, program.id, { decision: 'keep' }), 403)
      assert.equal(await status(program), 200)

      const text = await (await browser.get(`/${program.id}/www/password-access`)).text()
      assert.ok(text.includes('A program with a password created this account. Keep or revoke its access.'))
      const form = { action: 'revoke', actor: program.id }
      assert.equal((await browser.post(`/${program.id}/www/password-access`, form)).status, 302)
      assert.equal(await status(program), 403)
      // The owner stays signed in.
      assert.equal((await browser.get(`/${program.id}/www`)).status, 200)
    })
  })

  describe('the page about password access', () => {
    it('offers a decision about a program, and the overview links to it until the owner decides (IDP-20)', async () => {
      const service = await startWith()
      const { sub, email } = newPerson(await provider())
      const program = await service.createActor(email)
      const { id } = await singlePageSignIn(service, sub)
      const browser = new TestBrowser(service)
      assert.equal(actorIn(await signIn(browser, await provider(), sub)), id)
      const link = `<a href="/${id}/www/password-access">A program created an account under your name</a>`
      assert.ok((await (await browser.get(`/${id}/www`)).text()).includes(link))
      const page = await (await browser.get(`/${id}/www/password-access`)).text()
      assert.ok(page.includes('A program with a password created it. Keep or revoke its access.'))
      assert.ok(page.includes(`http://troupe.test/${program.id}`))

      const answer = await browser.post(`/${id}/www/password-access`, { action: 'keep', actor: program.id })
      assert.equal(answer.headers.get('location'), `http://troupe.test/${id}/www/password-access`)
      assert.match(
        await (await browser.get(`/${id}/www/password-access`)).text(),
        /role="status"[^>]*>The password keeps working\./,
      )
      assert.ok(!(await (await browser.get(`/${id}/www`)).text()).includes(link))
      for (const [form, expected] of [
        [{ action: 'keep', actor: id }, 409],
        [{ action: 'revoke', actor: 'none' }, 409],
        [{ action: 'forget', actor: program.id }, 400],
        [{}, 400],
      ] as const)
        assert.equal((await browser.post(`/${id}/www/password-access`, form)).status, expected)
      assert.equal(await status(program), 200)
    })
  })
})
