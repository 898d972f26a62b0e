/** Authentication: the credentials, the order in which the service checks them, and the result of each. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { BearerKind } from '../../src/auth/authenticate.ts'
import { ServiceError } from '../../src/errors.ts'
import { github, google } from '../../src/index.ts'
import { basic, challengeAt, forEachService, type TestActor, type TestService } from '../support/service.ts'
import { answered, changesNothing, refused } from '../support/stored.ts'

const wrong = 'Cannot authenticate: the credentials are not valid for this actor'

function encoded(text: string | Uint8Array): string {
  return `Basic ${Buffer.from(text).toString('base64')}`
}

forEachService((start) => {
  describe('Basic', () => {
    let service: TestService
    before(async () => {
      service = await start()
    })
    const ask = (id: string, headers: Record<string, string>): Promise<Response> =>
      service.request(`/${id}/properties`, { headers })

    for (const [what, creator, passphrase] of [
      ['a plain pair', 'creator', 'simple'],
      ['a passphrase with colons', 'creator', 'a:b::c:'],
      ['a passphrase that begins with a colon', 'creator', ':a'],
      ['a colon in the creator', 'urn:me', 'simple'],
      ['colons in creator and passphrase', ':a:b', 'c::d:'],
      ['colons in an email address', 'mailto:me@example.com', 'p:q'],
      ['a passphrase beyond ASCII', 'creator', 'pässwörd 🗝'],
      ['a creator beyond ASCII', 'Åse', 'p'],
      ['a passphrase with spaces around it', 'creator', ' p '],
      ['a passphrase of 2000 characters', 'creator', 'x'.repeat(2000)],
      ['a byte order mark in front of the passphrase', 'creator', '\ufeffp'],
    ] as const) {
      it(`authenticates the creator with ${what} (R-AUTH-01, WEB-13)`, async () => {
        const { actor } = await service.app.actors.create({ creator, passphrase })
        await answered(await ask(actor.id, { authorization: basic(creator, passphrase) }), 200, {})
        for (const other of [passphrase.slice(0, -1), `${passphrase}x`, passphrase.toUpperCase().concat('!'), ''])
          await refused(await ask(actor.id, { authorization: basic(creator, other) }), 403, 'forbidden', wrong)
      })
    }

    for (const user of ['me@example.com', 'Me@Example.COM', ' me@example.com '])
      it(`accepts the email address ${JSON.stringify(user)} in any letter case (R-AUTH-01)`, async () => {
        const { actor, passphrase } = await service.app.actors.create({ creator: 'ME@example.com' })
        await answered(await ask(actor.id, { authorization: basic(user, passphrase) }), 200, {})
      })

    it('distinguishes the letter case of names that are not an address (R-AUTH-01)', async () => {
      const { actor, passphrase } = await service.app.actors.create({ creator: 'Name' })
      await answered(await ask(actor.id, { authorization: basic('Name', passphrase) }), 200, {})
      for (const user of ['name', 'NAME', ' Name', ''])
        await refused(await ask(actor.id, { authorization: basic(user, passphrase) }), 403, 'forbidden', wrong)
    })

    it('rejects a string with fewer colons than the creator (R-AUTH-01)', async () => {
      const { actor } = await service.app.actors.create({ creator: 'a:b', passphrase: 'c' })
      for (const text of ['a:b', 'a:c', 'a:', ':', '::', 'a:b:', 'a::b:c', 'a:b:c:'])
        await refused(await ask(actor.id, { authorization: encoded(text) }), 403, 'forbidden', wrong)
    })

    it('accepts the scheme in any letter case, and spaces after it (R-AUTH-01)', async () => {
      const { actor, passphrase } = await service.app.actors.create({ creator: 'me' })
      const value = basic('me', passphrase).slice('Basic '.length)
      for (const scheme of ['Basic', 'basic', 'BASIC', 'bAsIc'])
        await answered(await ask(actor.id, { authorization: `${scheme}  ${value}` }), 200, {})
    })

    it('does not authenticate for another actor (R-AUTH-01, ACL-02)', async () => {
      const [one, two] = [await service.createActor('one'), await service.createActor('two')]
      await refused(await ask(two.id, { authorization: one.authorization }), 403, 'forbidden', wrong)
    })

    it('gives the same response for an unknown creator and a wrong passphrase (R-AUTH-03, WEB-12)', async () => {
      const actor = await service.createActor('me')
      const answers = await Promise.all(
        [basic('me', 'wrong'), basic('unknown', 'wrong'), basic('unknown', actor.passphrase)].map((authorization) =>
          ask(actor.id, { authorization }),
        ),
      )
      const seen = await Promise.all(
        answers.map(async (answer) => [
          answer.status,
          await answer.text(),
          [...answer.headers].filter(([name]) => name !== 'x-request-id'),
        ]),
      )
      assert.deepEqual(seen[1], seen[0])
      assert.deepEqual(seen[2], seen[0])
      assert.equal(seen[0]?.[0], 403)
    })

    for (const [what, authorization, why] of [
      ['invalid base64', 'Basic !!!', 'the Basic value is not base64'],
      ['base64 of another alphabet', 'Basic YTpi-_', 'the Basic value is not base64'],
      ['a value without a colon', encoded('creator'), 'the Basic value has no colon'],
      ['invalid UTF-8', encoded(new Uint8Array([0x63, 0x3a, 0xff])), 'the Basic value is not UTF-8'],
      ['a scheme without a value', 'Basic', 'Authorization must be a scheme and a value'],
      ['a space in place of a value', 'Basic ', 'Authorization must be a scheme and a value'],
      ['two values', 'Basic YTpi YTpi', 'Authorization must be a scheme and a value'],
      ['a value without a scheme', 'YTpi', 'Authorization must be a scheme and a value'],
      ['an empty header', '', 'Authorization must be a scheme and a value'],
      ['another scheme', 'Digest abc', 'the authentication scheme is not supported'],
      ['a bearer without a token', 'Bearer', 'Authorization must be a scheme and a value'],
    ] as const) {
      it(`responds with 401 and a challenge, never 500, to ${what} (R-AUTH-01, R-AUTH-03, WEB-13)`, async () => {
        const actor = await service.createActor()
        const answer = await ask(actor.id, { authorization })
        assert.equal(answer.headers.get('www-authenticate'), challengeAt(actor.id))
        await refused(answer, 401, 'unauthorized', `Cannot read the credentials: ${why}`)
      })
    }

    it('refuses two Authorization headers (R-AUTH-01, WEB-13)', async () => {
      const actor = await service.createActor()
      const headers = new Headers({ authorization: actor.authorization })
      headers.append('authorization', actor.authorization)
      const answer = await service.request(`/${actor.id}/properties`, { headers })
      await refused(answer, 401, 'unauthorized', /^Cannot read the credentials: /)
    })
  })

  describe('a request without credentials (CHOICE-01)', () => {
    let service: TestService
    let actor: TestActor
    before(async () => {
      // Without a provider, a browser asks for the passphrase: test/stories/pages-by-passphrase.test.ts.
      service = await start({
        signIn: [google({ clientId: 'web', clientSecret: 'hush' }), github({ clientId: 'hub', clientSecret: 'hush' })],
      })
      actor = await service.createActor()
    })
    const paths = [
      '/properties',
      '/properties/x',
      '/properties/x/items',
      '/methods',
      '/actions/x',
      '/resources/x',
      '/devtest/ping',
    ]

    for (const headers of [
      {},
      { accept: '*/*' },
      { accept: 'application/json' },
      { cookie: 'other=1' },
      { cookie: 'oauth_token=' },
      { 'x-requested-with': 'x' },
    ]) {
      it(`receives 401 with a challenge on every route, when a program sends ${JSON.stringify(headers)} (R-AUTH-03, R-ACT-05)`, async () => {
        for (const path of ['', ...paths])
          await changesNothing(service, async () => {
            const answer = await service.request(`/${actor.id}${path}`, { headers })
            assert.equal(answer.headers.get('www-authenticate'), challengeAt(actor.id))
            assert.equal(answer.headers.get('vary'), 'Accept')
            await refused(answer, 401, 'unauthorized', 'Authentication required')
          })
      })
    }

    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      it(`is redirected to the sign-in page on every route, when a browser sends ${method} (R-AUTH-03, WEB-15)`, async () => {
        const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
        await changesNothing(service, async () => {
          for (const path of paths) {
            const answer = await service.request(`/${actor.id}${path}`, { method, headers })
            if (answer.status === 405) continue
            assert.equal(answer.status, 302, path)
            const login = `http://troupe.test/login?actor=${actor.id}&redirect=${encodeURIComponent(`/${actor.id}${method === 'POST' ? path.replace(/\/items$/, '') : path}`)}`
            assert.equal(answer.headers.get('location'), login)
            assert.equal(answer.headers.get('vary'), 'Accept')
            assert.equal(await answer.text(), '')
          }
        })
      })
    }

    it('differs from one with wrong credentials, which receives 403 in a browser, or 401 if they are unreadable (R-AUTH-03)', async () => {
      const page = { accept: 'text/html' }
      await refused(
        await service.request(`/${actor.id}/properties`, { headers: { ...page, authorization: basic('x', 'y') } }),
        403,
        'forbidden',
        wrong,
      )
      await refused(
        await service.request(`/${actor.id}/properties`, { headers: { ...page, authorization: 'Basic !' } }),
        401,
        'unauthorized',
        /^Cannot read/,
      )
    })

    it('receives 404 for an actor that does not exist, as every request does (R-AUTH-03, R-ACT-09, CHOICE-50)', async () => {
      for (const path of ['', ...paths]) {
        const page = await service.request(`/missing${path}`, { headers: { accept: 'text/html' } })
        assert.equal(page.status, 404)
        assert.match(await page.text(), /Actor .* does not exist/)
      }
      for (const headers of [{}, { authorization: actor.authorization }, { authorization: 'Basic !' }])
        for (const path of ['', ...paths])
          await refused(
            await service.request(`/missing${path}`, { headers }),
            404,
            'actor_not_found',
            'Actor "missing" does not exist',
          )
    })

    it('receives the configured host as realm, and a sign-in page below the prefix (R-ACT-10)', async () => {
      const own = await start({ baseUrl: 'https://actors.example:8443/prefix' })
      const owner = await own.createActor()
      const answer = await own.request(`/${owner.id}`, { headers: { host: 'evil.example' } })
      assert.equal(
        answer.headers.get('www-authenticate'),
        'Basic realm="actors.example:8443", charset="UTF-8", ' +
          `Bearer resource_metadata="https://actors.example:8443/prefix/.well-known/oauth-protected-resource/${owner.id}", ` +
          'scope="actor"',
      )
      const page = await own.request(`/${owner.id}`, { headers: { accept: 'text/html', host: 'evil.example' } })
      const asked = `actor=${owner.id}&redirect=%2Fprefix%2F${owner.id}`
      assert.equal(page.headers.get('location'), `https://actors.example:8443/prefix/login?${asked}`)
    })
  })

  describe('a bearer token or cookie', () => {
    const asked: string[] = []
    const kind =
      (name: string): BearerKind =>
      (token, actor, via) => {
        asked.push(`${name} ${token} ${via}`)
        if (token === 'broken') throw new ServiceError('store_unavailable')
        return Promise.resolve(
          token === `${name} of ${actor.creator}`.replaceAll(' ', '-') ? { kind: 'creator', via } : null,
        )
      }
    let service: TestService
    let actor: TestActor
    before(async () => {
      service = await start({
        bearerKinds: [kind('session'), kind('secret')],
        declare: (app) => app.method('who', ({ caller }) => caller),
      })
      actor = await service.createActor('me')
    })
    const who = (headers: Record<string, string>): Promise<Response> => {
      asked.length = 0
      return service.request(`/${actor.id}/methods/who`, { method: 'POST', body: '{}', headers })
    }

    it('is offered to each kind of token in order, until one recognizes it (R-AUTH-01, R-AUTH-02)', async () => {
      await answered(await who({ authorization: 'Bearer session-of-me' }), 200, { kind: 'creator', via: 'bearer' })
      assert.deepEqual(asked, ['session session-of-me bearer'])
      await answered(await who({ authorization: 'bearer secret-of-me' }), 200, { kind: 'creator', via: 'bearer' })
      assert.deepEqual(asked, ['session secret-of-me bearer', 'secret secret-of-me bearer'])
    })

    it('receives 403 when no kind recognizes it, or when it belongs to another actor (R-AUTH-01, R-AUTH-03)', async () => {
      for (const token of ['unknown', 'session-of-other', 'null', '0'])
        await refused(await who({ authorization: `Bearer ${token}` }), 403, 'forbidden', wrong)
    })

    it('receives 403 where no kind exists (R-AUTH-01)', async () => {
      const bare = await start()
      const owner = await bare.createActor()
      for (const headers of [{ authorization: 'Bearer x' }, { cookie: 'oauth_token=x' }])
        await refused(await bare.request(`/${owner.id}`, { headers }), 403, 'forbidden', wrong)
    })

    it('counts as a bearer token in a cookie when no header is sent (R-AUTH-01)', async () => {
      for (const cookie of [
        'oauth_token=session-of-me',
        'a=b; oauth_token=session-of-me; c=d',
        'oauth_token=session-of-me;',
      ])
        await answered(await who({ cookie, 'sec-fetch-site': 'same-origin' }), 200, { kind: 'creator', via: 'cookie' })
      await refused(await who({ cookie: 'oauth_token=unknown' }), 403, 'forbidden', wrong)
    })

    it('does not count in another cookie (R-AUTH-01)', async () => {
      for (const cookie of [
        'Oauth_token=session-of-me',
        'xoauth_token=session-of-me',
        'token=session-of-me',
        'oauth_token',
      ])
        await refused(await who({ cookie }), 401, 'unauthorized', 'Authentication required')
    })

    for (const [authorization, status, code] of [
      ['Bearer unknown', 403, 'forbidden'],
      [basic('me', 'wrong'), 403, 'forbidden'],
      ['Basic !', 401, 'unauthorized'],
      ['nonsense', 401, 'unauthorized'],
      ['', 401, 'unauthorized'],
    ] as const) {
      it(`is not checked in a cookie when the header fails: ${JSON.stringify(authorization.slice(0, 14))} (R-AUTH-02, WEB-14)`, async () => {
        await refused(await who({ authorization, cookie: 'oauth_token=session-of-me' }), status, code, /^Cannot /)
        assert.ok(!asked.some((call) => call.includes('session-of-me')))
      })
    }

    it('is not checked in a cookie when the header is valid (R-AUTH-02)', async () => {
      await answered(await who({ authorization: actor.authorization, cookie: 'oauth_token=unknown' }), 200, {
        kind: 'creator',
        via: 'basic',
      })
      assert.deepEqual(asked, [])
    })

    it('receives 503, never "wrong token", when the token store cannot be read (R-AUTH-03)', async () => {
      await refused(
        await who({ authorization: 'Bearer broken' }),
        503,
        'store_unavailable',
        'Storage cannot be used right now',
      )
    })
  })
})
