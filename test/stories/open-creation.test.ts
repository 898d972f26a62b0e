/** Services where only a sign-in and the application create actors (`TROUPE_OPEN_CREATION`). */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { actorIn, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { refused } from '../support/stored.ts'
import { dumpStore } from '../support/store-dump.ts'

const provider = sharedProvider()
const closedMessage =
  'Cannot create an actor: this service creates actors at the first sign-in. Sign in at http://troupe.test/login'

function create(service: TestService, body: object | null, headers: Record<string, string> = {}): Promise<Response> {
  return service.request('/', {
    method: 'POST',
    headers: { ...(body === null ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  })
}

async function actorsIn(service: TestService): Promise<readonly string[] | undefined> {
  return (await dumpStore((await service.app.running()).store))['actor']
}

forEachService((start) => {
  const closed = (options: StartOptions = {}): Promise<TestService> => start({ openCreation: false, ...options })

  describe('a service with closed creation', () => {
    it('refuses anonymous creation in every form, and creates nothing', async () => {
      const service = await closed()
      const before = await actorsIn(service)
      for (const body of [
        { creator: 'ben@example.com' },
        { creator: 'ben@example.com', passphrase: 'a-passphrase-of-ben' },
        { creator: 'ben@example.com', trustee_root: 'https://other.example/1' },
        { creator: 'trustee' },
        { creator: 'trustee', trustee_root: 'here' },
        { creator: 'trustee', trustee_root: 'https://other.example/1' },
        {},
        null,
      ]) {
        await refused(await create(service, body), 403, 'creation_closed', closedMessage)
      }
      const form = (accept: string): Promise<Response> =>
        service.request('/', {
          method: 'POST',
          headers: { accept },
          body: new URLSearchParams({ creator: 'ben@example.com' }),
        })
      await refused(await form('application/json'), 403, 'creation_closed', closedMessage)
      const page = await form('text/html')
      assert.equal(page.status, 403)
      assert.ok((await page.text()).includes('this service creates actors at the first sign-in'))
      const front = await service.request('/', { headers: { accept: 'text/html' } })
      assert.ok(!(await front.text()).includes('Create account'))
      assert.deepEqual(await actorsIn(service), before)
    })

    it('creates actors for the application and for a sign-in', async () => {
      const service = await closed(signInAt(await provider()))
      const { actor } = await service.app.actors.create({ creator: 'ben@example.com' })
      assert.equal((await service.app.actors.get(actor.id))?.creator, 'ben@example.com')
      assert.match(actorIn(await signIn(new TestBrowser(service), await provider(), 'ada')), /^[0-9a-f]{32}$/)
    })
  })

  describe('the default of open creation', () => {
    const production: StartOptions = { mode: 'production', baseUrl: 'https://troupe.test', allowHttp: true }

    it('is closed in production where people can sign in, and open otherwise (IDP-25)', async () => {
      const withProvider = signInAt(await provider())
      for (const [options, status] of [
        [{ ...withProvider }, 201],
        // Passkeys are on without a setting, and count like written ones.
        [{ ...production }, 403],
        [{ ...production, env: { TROUPE_PROVIDERS: 'passkey' } }, 403],
        [{ ...production, env: { TROUPE_PROVIDERS: '' } }, 201],
        [{ ...production, signIn: [] }, 201],
        [{ ...production, webUi: false }, 201],
        [{ ...production, baseUrl: 'http://192.0.2.7' }, 201],
        [{ ...production, openCreation: true }, 201],
        [{ ...production, ...withProvider }, 403],
        [{ ...production, ...withProvider, openCreation: true }, 201],
        [{ ...production, ...withProvider, env: { TROUPE_OPEN_CREATION: '1' } }, 201],
        [{ env: { TROUPE_OPEN_CREATION: '0' } }, 403],
      ] as const) {
        const service = await start(options)
        assert.equal((await create(service, { creator: 'ben@example.com' })).status, status)
      }
    })
  })

  describe('an actor under a name without proof', () => {
    it('is not the proven actor of that name', async () => {
      const service = await start(signInAt(await provider()))
      const { actors } = service.app
      const squatter = await actors.create({ creator: 'ada@example.com' })
      assert.equal(await squatter.actor.isProven(), false)
      assert.equal((await actors.findByCreator('ada@example.com'))?.id, squatter.actor.id)
      assert.equal(await actors.findByCreator('ada@example.com', { proven: true }), undefined)
      const vouched = await actors.create({ creator: 'ben@example.com', verified: true })
      assert.equal(await vouched.actor.isProven(), true)
      assert.equal((await actors.findByCreator(' BEN@example.com ', { proven: true }))?.id, vouched.actor.id)
    })
  })
})
