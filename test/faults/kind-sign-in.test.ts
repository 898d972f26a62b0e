/** Sign-ins of people, which lead to no actor of another kind. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setCreator } from '../../src/actor/actor-store.ts'
import { passkey } from '../../src/index.ts'
import type { Kind } from '../../src/app/kinds/kind.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { newPerson, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { SoftPasskey } from '../support/soft-passkey.ts'
import { refused } from '../support/stored.ts'

const provider = sharedProvider()
const baseUrl = 'https://notes.example.com'

/** Creators that a person could prove or type, and that of another actor. */
const creators = ['me@example.com', ' Me@Example.com ', 'me', '', 'trustee', 'github:1', 'club/another', 'person/1']

forEachService((start) => {
  async function withClub(uniqueCreator = false) {
    let club: Kind | undefined
    const { signIn: providers } = signInAt(await provider())
    const service = await start({
      baseUrl,
      uniqueCreator,
      signIn: [...providers, passkey()],
      declare: (app) => void (club = app.kind('club', { name: 'Club' })),
    })
    const { id, creator } = (await club?.create()) ?? assert.fail()
    const { parts } = await service.app.running()
    const passphrase = parts.actors.passphraseOf(await parts.actors.require(id))
    const headers = { authorization: `Basic ${btoa(`${creator}:${passphrase}`)}`, 'content-type': 'application/json' }
    const put = (body: object): Promise<Response> =>
      service.request(`/${id}/trust/trustee`, { method: 'PUT', headers, body: JSON.stringify(body) })
    return { service, id, creator, passphrase, put }
  }

  async function assertNoAccount(service: TestService, id: string): Promise<void> {
    const { parts, store } = await service.app.running()
    assert.equal(await parts.accounts.find(id), null)
    assert.deepEqual(await store.read((q) => q.all('SELECT chain_id FROM token_chain WHERE actor_id = $1', id)), [])
  }

  describe('an actor of another kind than the person', () => {
    for (const isUnique of [false, true])
      it(`keeps its creator, whatever its owner sends${isUnique ? ', where creators are unique' : ''}`, async () => {
        const { service, id, creator, put } = await withClub(isUnique)
        const { parts } = await service.app.running()
        for (const named of creators) {
          const answer = await put({ creator: named, trustee_root: 'https://other.example/1' })
          await refused(answer, 409, 'conflict', 'Cannot set the creator: the actor is of no person')
          const { creator: kept, trusteeRoot } = await parts.actors.require(id)
          assert.deepEqual([kept, trusteeRoot], [creator, null], named)
        }
        assert.equal((await put({ creator, trustee_root: 'https://other.example/1' })).status, 204)
        assert.equal((await parts.actors.require(id)).trusteeRoot, 'https://other.example/1')
      })

    it('is not joined by a person, also where its row has the address of the person (ACL-24)', async () => {
      const { service, id, passphrase } = await withClub()
      const { sub, email } = newPerson(await provider())
      await (await service.app.running()).store.write((tx) => setCreator(tx, id, email))
      const browser = new TestBrowser(service)
      const page = await (await signIn(browser, await provider(), sub)).text()
      const claim = /name="claim" value="([\w-]{43})"/.exec(page)?.[1] ?? ''
      assert.equal((await browser.post('/oauth/claim', { claim, choice: 'join', passphrase })).status, 403)
      await assertNoAccount(service, id)
    })

    it('has no session of a person, also where an account names it (ACL-24)', async () => {
      const { service, id } = await withClub()
      const { store } = await service.app.running()
      const { sub, email } = newPerson(await provider())
      await store.write(async (tx) => {
        await tx.run(
          `INSERT INTO account (actor_id, identifier, verified, fields, provider_tokens) VALUES ($1, $2, 1, '{}', '')`,
          id,
          email,
        )
        await tx.run(
          `INSERT INTO identity (name, kind, actor_id, verified) VALUES ($1, 'identifier', $2, 1)`,
          email,
          id,
        )
      })
      assert.equal((await signIn(new TestBrowser(service), await provider(), sub)).status, 403)
      assert.deepEqual(await store.read((q) => q.all('SELECT chain_id FROM token_chain WHERE actor_id = $1', id)), [])
    })

    it('gets no passkey, with which a person would sign in (ACL-24)', async () => {
      const { service, id, creator, passphrase } = await withClub()
      const browser = await OwnersBrowser.open(service, { id, creator, passphrase } as TestActor)
      const page = await (await browser.get('/passkeys')).text()
      const [, options = ''] = /data-passkey="create" data-options="([^"]*)"/.exec(page) ?? []
      const [, ticket = ''] = /name="ticket" value="([^"]+)"/.exec(page) ?? []
      const [, token = ''] = /name="csrf_token" value="([^"]+)"/.exec(page) ?? []
      const response = new SoftPasskey().create(options.replaceAll('&quot;', '"'), baseUrl)
      const fields = { csrf_token: token, action: 'add', ticket, name: 'Laptop', response }
      assert.equal((await browser.send('/passkeys', fields)).status, 403)
      const { parts } = await service.app.running()
      assert.equal(await parts.accounts.find(id), null)
      assert.deepEqual((await parts.passkeys.list(id)).passkeys, [])
    })
  })
})
