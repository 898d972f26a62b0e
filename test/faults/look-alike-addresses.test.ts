/** Addresses whose letters only look like those of another person. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { basic, forEachService } from '../support/service.ts'
import { actorIn, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'

const provider = sharedProvider()

/** Spellings that a case conversion or a compatibility normalization makes `boss…@example.com`. */
const spellings: Readonly<Record<string, (name: string) => string>> = {
  'a long s': (name) => name.replace('s', '\u017f'),
  'full-width letters': (name) => name.replace('b', '\uff42'),
  'a Kelvin sign': (name) => name.replace('k', '\u212a'),
  'a full-width at sign': (name) => name.replace('@', '\uff20'),
  'a full-width domain': (name) => name.replace('e', '\uff45'),
  'a no-break space': (name) => `${name}\u00a0`,
}

/** IDNA alone makes this character a dot, so it stays a letter of a creator. */
const ideographic = (name: string): string => name.replace('.com', '\u3002com')

let counter = 0

forEachService((start) => {
  describe('a verified address with other letters', () => {
    for (const [what, respell] of Object.entries({ ...spellings, 'an ideographic full stop': ideographic }))
      it(`neither enters the account nor becomes an operator: ${what} (IDP-23)`, async () => {
        const idp = await provider()
        const email = `bosk${(counter += 1)}@example.com`
        idp.people.set(`boss-${counter}`, { email, email_verified: true })
        idp.people.set(`other-${counter}`, { email: respell(email), email_verified: true })
        const service = await start({ ...signInAt(idp), admins: [email], signInIdentity: 'provider' })
        const boss = new TestBrowser(service)
        const home = actorIn(await signIn(boss, idp, `boss-${counter}`))
        assert.equal((await boss.get('/admin')).status, 200)
        const other = new TestBrowser(service)
        const entered = actorIn(await signIn(other, idp, `other-${counter}`))
        assert.match(entered, /^[0-9a-f]{32}$/)
        assert.notEqual(entered, home)
        assert.equal((await other.get('/admin')).status, 403)
        assert.equal((await other.get(`/${home}/www`)).status, 302)
      })

    for (const [what, respell] of Object.entries(spellings)) {
      it(`becomes neither a creator nor a user of Basic: ${what} (IDP-23)`, async () => {
        const service = await start({ uniqueCreator: true, forceEmailAsCreator: true })
        const actor = await service.createActor('bosk@example.com')
        const other = await service.createActor('other@example.com')
        const text = respell('bosk@example.com')
        const send = (creator: string): Promise<Response> =>
          service.request('/', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ creator, passphrase: actor.passphrase }),
          })
        assert.equal((await send(text)).status, 400)
        assert.equal((await other.request('PUT', '/properties/email', JSON.stringify(text))).status, 400)
        const authorization = basic(text, actor.passphrase)
        assert.equal((await service.request(`/${actor.id}/properties`, { headers: { authorization } })).status, 403)
        // Browsers and programs may write the user in capital letters.
        const capitals = { authorization: basic('BOSK@Example.COM', actor.passphrase) }
        assert.equal((await service.request(`/${actor.id}/properties`, { headers: capitals })).status, 200)
      })

      it(`prevents the start as an operator: ${what} (IDP-23)`, async () => {
        await assert.rejects(start({ admins: [respell('bosk@example.com')] }), { name: 'ConfigError' })
      })
    }
  })
})
