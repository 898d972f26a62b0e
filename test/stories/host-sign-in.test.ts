/** The option `authenticate`: the owner pages sign in the user of the program that embeds the service. */
import assert from 'node:assert/strict'
import { IncomingMessage } from 'node:http'
import { describe, it } from 'node:test'
import { type Authenticate, openid, ServiceError } from '../../src/index.ts'
import { systemTimers } from '../../src/timers.ts'
import { authorizePath, consentIn, newPkce, redirectUri, registerClient } from '../support/oauth-client.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { actorIn, assertNoSignIn, TestBrowser } from '../support/sign-in.ts'

interface User {
  readonly email: string
  readonly verified: boolean
}

/** The users of the embedding program, by the cookie that its own sign-in sets. */
const users: Readonly<Record<string, User>> = {
  ada: { email: 'ada@example.com', verified: true },
  ben: { email: 'Ben@Example.com', verified: true },
  new: { email: 'new@example.com', verified: false },
  odd: { email: 'not an address', verified: true },
}

const byCookie: Authenticate = (request) => {
  const [, name = ''] = /shop=(\w+)/.exec(request.headers.get('cookie') ?? '') ?? []
  return users[name]
}

/** Opens an address and follows the redirects within the service. */
async function follow(browser: TestBrowser, address: string): Promise<{ answer: Response; passed: string[] }> {
  const passed: string[] = []
  let answer = await browser.get(address)
  for (let hops = 0; hops < 10 && [302, 303].includes(answer.status); hops += 1) {
    const location = answer.headers.get('location') ?? ''
    passed.push(location.replace(browser.service.url, '').split('?', 1)[0] ?? '')
    if (!location.startsWith(browser.service.url)) break
    answer = await browser.get(location)
  }
  return { answer, passed }
}

function signedInAt(service: TestService, user: string | null): TestBrowser {
  const browser = new TestBrowser(service)
  if (user !== null) browser.cookies.set('shop', user)
  return browser
}

const enter = '/oauth/login/host'

forEachService((start) => {
  const open = (options: StartOptions = {}): Promise<TestService> => start({ authenticate: byCookie, ...options })

  describe('the sign-in of a user of the embedding program', () => {
    it('creates the actor of the verified address, and opens its pages', async () => {
      const service = await open()
      const browser = signedInAt(service, 'ada')
      const { answer, passed } = await follow(browser, enter)
      const [, , pages = ''] = passed
      assert.deepEqual(passed.slice(0, 2), ['/oauth/host', '/oauth/callback'])
      assert.match(pages, /^\/[0-9a-f]{32}\/www$/)
      assert.equal(answer.status, 200)
      const actor = (await service.app.actors.findByCreator('ada@example.com', { proven: true })) ?? assert.fail()
      assert.equal(`/${actor.id}/www`, pages)
      const [session] = (await (
        await service.request(`/${actor.id}/sessions`, {
          headers: { cookie: `oauth_token=${browser.cookies.get('oauth_token')}` },
        })
      ).json()) as { began_with: string }[]
      assert.equal(session?.began_with, 'web')
    })

    it('enters the actor that the program created for the user', async () => {
      const service = await open()
      const { actor } = await service.app.actors.create({ creator: 'ben@example.com', verified: true })
      const browser = signedInAt(service, 'ben')
      const { passed } = await follow(browser, `/${actor.id}/www/properties`)
      assert.deepEqual(passed, [enter, '/oauth/host', '/oauth/callback', `/${actor.id}/www/properties`])
      const again = await follow(browser, enter)
      assert.equal(again.passed.at(-1), `/${actor.id}/www`)
    })

    it('asks the user about an actor that any program may have created under the address', async () => {
      const service = await open()
      const squatted = await service.createActor('ada@example.com')
      const { answer } = await follow(signedInAt(service, 'ada'), enter)
      assert.equal(answer.status, 200)
      assert.match(await answer.text(), /name="claim"/)
      assert.equal(await service.app.actors.findByCreator('ada@example.com', { proven: true }), undefined)
      assert.equal((await service.app.actors.get(squatted.id))?.creator, 'ada@example.com')
    })

    it('is refused at the pages of another owner', async () => {
      const service = await open()
      const { actor } = await service.app.actors.create({ creator: 'ben@example.com', verified: true })
      const { answer } = await follow(signedInAt(service, 'ada'), `/${actor.id}/www`)
      assert.equal(answer.status, 403)
      assert.match(await answer.text(), /You signed in with a different account than expected/)
    })

    it('is refused when the application rejects the sign-in, and leaves no actor', async () => {
      const service = await open({ declare: (app) => app.on('oauth_success', () => false) })
      await assertNoSignIn(service, async () => {
        assert.equal((await follow(signedInAt(service, 'ada'), enter)).answer.status, 403)
      }, ['deleted_actor'])
    })

    for (const [user, sentence] of [
      ['new', /Your email address isn’t verified/],
      ['odd', /has no valid email address for you/],
    ] as const) {
      it(`is refused for the user ${user}, whose address proves nothing`, async () => {
        const service = await open()
        await assertNoSignIn(service, async () => {
          const { answer, passed } = await follow(signedInAt(service, user), enter)
          assert.deepEqual([answer.status, passed], [403, ['/oauth/host', '/oauth/callback']])
          assert.match(await answer.text(), sentence)
        })
      })
    }

    it('gives a single-page application its session, or the reason of the refusal', async () => {
      const service = await open({ spaRedirectOrigins: ['https://app.example.com'] })
      const back = async (user: string): Promise<URLSearchParams> => {
        const browser = signedInAt(service, user)
        const begun = await browser.fetchJson('/oauth/spa/authorize', { redirect_uri: 'https://app.example.com/' })
        const { authorization_url: url } = (await begun.json()) as { authorization_url: string }
        const { answer } = await follow(browser, url)
        return new URL(answer.headers.get('location') ?? '').searchParams
      }
      assert.match((await back('ada')).get('session') ?? '', /^[\w-]{43}$/)
      const refused = await back('new')
      assert.deepEqual([refused.get('error'), refused.get('session')], ['identifier_failed', null])
    })

    it('authorizes an AI client, which receives a code, or the reason of the refusal', async () => {
      const service = await open()
      const client = await registerClient(service)
      const back = async (user: string): Promise<URL> => {
        const browser = signedInAt(service, user)
        const page = await browser.get(authorizePath(client, newPkce()))
        const form = { consent: consentIn(await page.text()), provider: 'host', trust_type: 'mcp_client' }
        const decided = await browser.post('/oauth/authorize', form)
        assert.equal(decided.status, 303)
        const { answer } = await follow(browser, decided.headers.get('location') ?? '')
        return new URL(answer.headers.get('location') ?? '')
      }
      const allowed = await back('ada')
      assert.equal(`${allowed.origin}${allowed.pathname}`, redirectUri)
      assert.match(allowed.searchParams.get('code') ?? '', /^ac_[\w-]{43}$/)
      const refused = await back('new')
      assert.equal(`${refused.origin}${refused.pathname}`, redirectUri)
      assert.deepEqual([refused.searchParams.get('error'), refused.searchParams.get('code')], ['access_denied', null])
    })

    it('is the only sign-in of a service in development without providers', async () => {
      const service = await open({ localSignIn: true })
      const page = await (await signedInAt(service, null).get('/login')).text()
      assert.match(page, /\/oauth\/login\/host/)
      assert.doesNotMatch(page, /\/oauth\/login\/local/)
    })
  })

  describe('a person whom the embedding program does not know', () => {
    it('goes to its sign-in page, and returns from there to the requested page', async () => {
      const service = await open({ signInUrl: '/signin?next={return}' })
      const { actor } = await service.app.actors.create({ creator: 'ada@example.com', verified: true })
      const browser = signedInAt(service, null)
      const { passed, answer } = await follow(browser, `/${actor.id}/www/trust`)
      assert.deepEqual(passed, [enter, '/oauth/host', '/signin'])
      assert.equal(answer.status, 404)
      const begun = await browser.get(enter + new URL(`${service.url}/?redirect=/${actor.id}/www/trust`).search)
      const page = new URL((await browser.get(begun.headers.get('location') ?? '')).headers.get('location') ?? '')
      browser.cookies.set('shop', 'ada')
      const back = await follow(browser, page.searchParams.get('next') ?? '')
      assert.equal(back.passed.at(-1), `/${actor.id}/www/trust`)
      assert.equal(back.answer.status, 200)
    })

    it('is refused after the return, so that the browser does not go around forever', async () => {
      const service = await open({ signInUrl: 'https://shop.example.com/login?to={return}' })
      const browser = signedInAt(service, null)
      const { answer } = await follow(browser, enter)
      const location = new URL(answer.headers.get('location') ?? '')
      assert.equal(`${location.origin}${location.pathname}`, 'https://shop.example.com/login')
      const refused = await browser.get(location.searchParams.get('to') ?? '')
      assert.equal(refused.status, 403)
      assert.match(await refused.text(), /you are not signed in at the application/)
    })

    it('is refused when the program has no sign-in page', async () => {
      const service = await open()
      await assertNoSignIn(service, async () => {
        assert.equal((await follow(signedInAt(service, null), enter)).answer.status, 403)
      })
    })
  })

  describe('authenticate', () => {
    it('receives the request by the base URL, without a body, and the request of the server', async () => {
      const seen: unknown[] = []
      const authenticate: Authenticate = (request, original) => {
        const { url, method, headers, body } = request
        const kind = original instanceof IncomingMessage ? 'node' : original instanceof Request ? 'fetch' : 'none'
        seen.push([url.split('?', 1)[0], method, headers.get('cookie')?.includes('shop=ada'), body, kind])
        return null
      }
      const inProcess = await open({ authenticate, baseUrl: 'https://shop.example.com/actors' })
      await follow(signedInAt(inProcess, 'ada'), enter)
      const listening = await open({ authenticate, listen: true })
      await follow(signedInAt(listening, 'ada'), enter)
      assert.deepEqual(seen, [
        ['https://shop.example.com/actors/oauth/host', 'GET', true, null, 'fetch'],
        [`${listening.url}/oauth/host`, 'GET', true, null, 'node'],
      ])
    })

    const failing: readonly (readonly [string, Authenticate, RegExp])[] = [
      ['throws', () => assert.fail('The user table is locked'), /The user table is locked/],
      ['rejects', () => Promise.reject(new Error('No connection')), /No connection/],
      ['never answers', () => new Promise(() => {}), /authenticate did not answer within 10 seconds/],
      ['returns no user', (() => ({ id: 7 })) as never, /authenticate must return/],
      ['returns a user without proof', (() => ({ email: 'ada@example.com', verified: 1 })) as never, /must return/],
    ]
    for (const [what, authenticate, reason] of failing) {
      it(`that ${what} refuses the sign-in with 502, and the log has the reason`, async () => {
        const setTimer: typeof systemTimers.setTimer = (ms, then) => systemTimers.setTimer(ms === 10_000 ? 0 : ms, then)
        const service = await open({ authenticate, timers: { setTimer } })
        await assertNoSignIn(service, async () => {
          const { answer } = await follow(signedInAt(service, 'ada'), enter)
          assert.equal(answer.status, 502)
          assert.match(await answer.text(), /the application did not say who you are/)
        })
        assert.match(service.log.filter((line) => line.includes('The option authenticate failed')).join(), reason)
      })
    }

    it('may refuse a user with a sentence of its own', async () => {
      const authenticate: Authenticate = () => {
        throw new ServiceError('forbidden', 'Your account is suspended')
      }
      const service = await open({ authenticate })
      const { answer } = await follow(signedInAt(service, 'ada'), enter)
      assert.equal(answer.status, 403)
      assert.match(await answer.text(), /Your account is suspended/)
    })

    it('is not called for a sign-in that began in another browser, so that no other site gets a code', async () => {
      let calls = 0
      const service = await open({
        authenticate: (request, original) => {
          calls += 1
          return byCookie(request, original)
        },
      })
      const attacker = signedInAt(service, 'ben')
      const begun = (await attacker.get(enter)).headers.get('location') ?? ''
      const victim = signedInAt(service, 'ada')
      await victim.get(enter)
      for (const address of [begun, '/oauth/host?state=unknown&code_challenge=x', '/oauth/host?state=', '/oauth/host'])
        assert.equal((await victim.get(address)).status, 400, address)
      assert.equal(calls, 0)
    })

    it('gives a code that is valid once, and in no other sign-in', async () => {
      const service = await open()
      const attacker = signedInAt(service, 'ben')
      const victim = signedInAt(service, 'ada')
      const callback = async (browser: TestBrowser): Promise<URL> => {
        const begun = (await browser.get(enter)).headers.get('location') ?? ''
        return new URL((await browser.get(begun)).headers.get('location') ?? '')
      }
      const [ofAttacker, ofVictim] = [await callback(attacker), await callback(victim)]
      const planted = new URL(ofVictim)
      planted.searchParams.set('code', ofAttacker.searchParams.get('code') ?? '')
      await assertNoSignIn(service, async () => {
        assert.equal((await victim.get(ofAttacker.href)).status, 400)
        assert.equal((await victim.get(planted.href)).status, 502)
        assert.equal((await victim.get(ofVictim.href)).status, 400)
        assert.equal((await attacker.get(ofAttacker.href)).status, 502)
      })
      const own = await callback(victim)
      assert.match(actorIn(await victim.get(own.href)), /^[0-9a-f]{32}$/)
      assert.equal((await victim.get(own.href)).status, 400)
    })

    it('leads to no other site: the target of a sign-in is a path of the service', async () => {
      const service = await open()
      const browser = signedInAt(service, 'ada')
      for (const target of ['https://evil.example/', '//evil.example/', '/\\evil.example'])
        assert.equal((await browser.get(`${enter}?redirect=${encodeURIComponent(target)}`)).status, 400, target)
    })

    it('is refused at the start when it is not a function, or a provider has the name host', async () => {
      const wrong = { authenticate: 'ada@example.com' as never }
      await assert.rejects(open(wrong), {
        name: 'ConfigError',
        message: 'Option authenticate must be a function that returns { email, verified }, null or undefined.',
      })
      const provider = { issuer: 'https://id.example.com', clientId: 'a', clientSecret: 'b' }
      await assert.rejects(open({ signIn: [openid({ name: 'host', ...provider })] }), {
        name: 'ConfigError',
        message: 'Cannot use a provider with the name host beside the option authenticate: rename the provider.',
      })
      for (const signInUrl of [
        '/login',
        'login?{return}',
        '//evil.example/{return}',
        '/\\evil/{return}',
        'ftp://a/{return}',
      ])
        await assert.rejects(open({ signInUrl }), { name: 'ConfigError' }, signInUrl)
    })
  })
})
