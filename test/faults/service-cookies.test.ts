/** Cookies of services over plain http, and of several services at one host. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { readSetCookie } from '../../src/testing/browser.ts'
import { HostBrowser } from '../support/host-browser.ts'
import { seeded } from '../support/random.ts'
import { sqliteService, type StartOptions, type TestService } from '../support/service.ts'
import { newPerson, sharedProvider, signInAt } from '../support/sign-in.ts'
import { asBrowser } from '../support/sessions.ts'

const start = sqliteService()
const provider = sharedProvider()

async function serviceAt(baseUrl: string, options: StartOptions = {}): Promise<TestService> {
  return start({ ...signInAt(await provider()), baseUrl, ...options })
}

const production: StartOptions = { mode: 'production', allowHttp: true }

describe('cookies over plain http', () => {
  for (const baseUrl of [
    'http://localhost:3000',
    'http://localhost',
    'http://127.0.0.1:3000',
    'http://[::1]:3000',
    'http://nas.local:3000',
    'http://192.168.1.20:8080/troupe',
  ]) {
    it(`keep a person signed in with Safari, in development at ${baseUrl} (WEB-24)`, async () => {
      const idp = await provider()
      const service = await serviceAt(baseUrl)
      const browser = new HostBrowser()
      const back = await browser.signIn(service, idp, newPerson(idp).sub)
      assert.equal(back.status, 302)
      assert.equal(await browser.isSignedIn(service), true)
      assert.match(browser.value('oauth_token') ?? '', /^[0-9a-f]{40}$/)
      const out = await browser.send(service, 'POST', '/oauth/logout')
      assert.equal(out.status, 302)
      assert.equal(await browser.isSignedIn(service), false)
      assert.equal(browser.lines.length > 4, true)
      for (const line of browser.lines) {
        assert.doesNotMatch(line, /secure|^__Host-|^__Secure-/i)
        assert.match(line, /; Path=\/; HttpOnly; SameSite=Lax$/)
      }
    })
  }

  for (const [baseUrl, options] of [
    ['https://troupe.test', {}],
    ['https://troupe.test:8443/a', {}],
    ['https://troupe.test', production],
    ['http://troupe.test', production],
    ['http://localhost:3000', production],
  ] as const) {
    const mode = 'mode' in options ? 'production' : 'development'
    it(`keep Secure, and the prefix of browsers for all but the session, in ${mode} at ${baseUrl} (WEB-08)`, async () => {
      const idp = await provider()
      const service = await serviceAt(baseUrl, options)
      const browser = new HostBrowser()
      await browser.signIn(service, idp, newPerson(idp).sub)
      await browser.send(service, 'POST', '/oauth/logout')
      for (const line of browser.lines) {
        assert.match(line, /; Path=\/; Secure; HttpOnly; SameSite=Lax$/)
        assert.match(line, /^(?:oauth_token=|__Host-)/)
      }
    })
  }

  it('says in production at the start and on the page what works, and names no unsafe way out (WEB-24)', async () => {
    const idp = await provider()
    const service = await serviceAt('http://troupe.test', production)
    const warned = service.log.map((line) => JSON.parse(line) as { level: number | string; msg: string })
    assert.deepEqual(
      warned.filter(({ msg }) => msg.startsWith('BASE_URL is')).map(({ msg }) => msg),
      [
        'BASE_URL is http://troupe.test, without encryption. Programs with a passphrase, key or token work. People cannot sign in on pages, because browsers keep the cookies for https only; Chromium and Firefox keep them at localhost too. Put a proxy with https before the service, and set BASE_URL to its address.',
      ],
    )
    const refused = await new HostBrowser().signIn(service, idp, newPerson(idp).sub)
    assert.equal(refused.status, 400)
    assert.match(
      await refused.text(),
      /sent no cookie of this service\. The service runs over http, and its cookies need https/,
    )
    for (const quiet of [await serviceAt('http://troupe.test'), await serviceAt('https://troupe.test', production)])
      assert.doesNotMatch(quiet.log.join('\n'), /without encryption/)
  })

  it('are named as missing when none arrived, and not when another one arrived (WEB-24)', async () => {
    const idp = await provider()
    const service = await serviceAt('https://troupe.test')
    const begun = await new HostBrowser().send(service, 'GET', '/oauth/login/acme')
    const { url } = await idp.signIn(begun.headers.get('location') ?? '', newPerson(idp).sub)
    const path = url.href.slice(service.url.length)
    const pages = [path, '/oauth/email?session=x', '/oauth/authorize/finish?consent=x']
    for (const page of pages) {
      const refused = await new HostBrowser().send(service, 'GET', page)
      assert.match(await refused.text(), /sent no cookie of this service\. It may block cookies/, page)
      const other = new HostBrowser()
      await other.send(service, 'GET', '/oauth/login/acme')
      const elsewhere = await other.send(service, 'GET', page)
      assert.equal(elsewhere.status, refused.status)
      assert.doesNotMatch(await elsewhere.text(), /sent no cookie/, page)
    }
    const german = await service.request(path, { headers: { accept: 'text/html', 'accept-language': 'de' } })
    assert.match(await german.text(), /lang="de"[^]*Browser hat [a-z]+ Cookie/)
    // A program without cookies reads which step failed.
    const program = await service.request(path, { headers: { accept: 'application/json' } })
    assert.match(await program.text(), /this sign-in is not known here/)
  })
})

/** The bases of two services that a browser takes for one host. */
const pairs = [
  ['http://localhost:3000', 'http://localhost:4000'],
  ['https://host.test', 'https://host.test:8443'],
  ['https://host.test/a', 'https://host.test/b'],
  ['https://host.test/b', 'https://host.test'],
] as const

for (const bases of pairs) {
  describe(`two services at one host: ${bases.join(' and ')}`, () => {
    const steps = ['sign in', 'sign in', 'open', 'open', 'sign out', 'sign out by script', 'tokens', 'refresh'] as const
    let services: readonly [TestService, TestService]
    before(async () => {
      services = [await serviceAt(bases[0]), await serviceAt(bases[1])]
    })

    for (const seed of [1, 2, 3]) {
      it(`never sign each other out, and change no cookie of the other or of another program, by seed ${seed} (WEB-25)`, async () => {
        const idp = await provider()
        const random = seeded(seed)
        const browser = new HostBrowser()
        for (const name of [
          'session_id',
          'oauth_refresh_token',
          ...(seed === 3 ? ['access_token', 'oauth_token'] : []),
        ])
          browser.plant(name, 'of-another-program')
        const person = async (service: TestService) => ({
          service,
          sub: newPerson(idp).sub,
          actor: await service.createActor(`${seed}@example.com`),
        })
        const people = [await person(services[0]), await person(services[1])] as const
        const signedIn = new Map<TestService, 'pages' | 'tokens'>()
        for (let step = 0; step < 24; step++) {
          const { service, sub, actor } = random.pick(people)
          const what = random.pick(steps)
          const state = signedIn.get(service)
          if (what === 'sign in' && state !== 'tokens') {
            await browser.signIn(service, idp, sub)
            signedIn.set(service, 'pages')
          } else if (what === 'open') await browser.send(service, 'GET', `/${actor.id}/www`)
          else if (what === 'sign out' || what === 'sign out by script') {
            await browser.send(service, 'POST', what === 'sign out' ? '/oauth/logout' : '/oauth/spa/logout')
            signedIn.delete(service)
          } else if (what === 'tokens' && state !== 'pages') {
            const grant = { grant_type: 'passphrase', actor_id: actor.id, passphrase: actor.passphrase }
            await browser.send(service, 'POST', '/oauth/spa/token', { ...grant, token_delivery: 'cookie' })
            signedIn.set(service, 'tokens')
          } else if (what === 'refresh' && state === 'tokens') {
            const grant = { grant_type: 'refresh_token', token_delivery: 'cookie' }
            assert.equal((await browser.send(service, 'POST', '/oauth/spa/token', grant)).status, 200)
          }
          const shown = new Map<string, boolean>()
          for (const each of services) shown.set(each.url, await browser.isSignedIn(each))
          assert.deepEqual(
            [...shown],
            services.map((each) => [each.url, signedIn.has(each)]),
            `step ${step}: ${what} at ${service.url}`,
          )
        }
        assert.deepEqual(browser.intrusions, [])
        assert.equal(browser.value('session_id'), 'of-another-program')
        assert.equal(browser.value('oauth_refresh_token'), 'of-another-program')
      })
    }
  })
}

describe('a cookie of another service', () => {
  it('looks like no session: it is neither cleared nor called expired, and never begins one (WEB-25)', async () => {
    const idp = await provider()
    const one = await serviceAt('https://host.test/a')
    const two = await serviceAt('https://host.test/b')
    const browser = new HostBrowser()
    await browser.signIn(one, idp, newPerson(idp).sub)
    const token = browser.value('oauth_token') ?? ''
    const actor = await two.createActor()
    const asked = await browser.send(two, 'GET', `/${actor.id}/www`)
    assert.equal(asked.status, 302)
    assert.deepEqual(asked.headers.getSetCookie(), [])
    assert.equal(browser.value('oauth_token'), token)
    const out = await browser.send(two, 'POST', '/oauth/spa/logout')
    assert.deepEqual(((await out.json()) as { cleared_cookies: string[] }).cleared_cookies, [])
    assert.equal(await browser.isSignedIn(one), true)
  })

  it('planted under the shared name neither replaces the own session nor receives the new one (WEB-25)', async () => {
    const idp = await provider()
    const service = await serviceAt('https://host.test')
    const attacker = new HostBrowser()
    await attacker.signIn(service, idp, newPerson(idp).sub)
    const planted = attacker.value('oauth_token') ?? ''
    const victim = new HostBrowser()
    for (const value of ['nonsense', 'a'.repeat(40), planted]) {
      victim.plant('oauth_token', value)
      await victim.signIn(service, idp, newPerson(idp).sub)
      const own = victim.value('__Host-oauth_token') ?? victim.value('oauth_token') ?? ''
      victim.plant('oauth_token', planted)
      const session = await service.request('/oauth/session', {
        headers: { cookie: `oauth_token=${planted}; __Host-oauth_token=${own}` },
      })
      assert.equal(((await session.json()) as { authenticated: boolean }).authenticated, true)
      assert.notEqual(own, planted)
    }
  })

  it('counts as a cookie of this service by no name of another service (WEB-25)', async () => {
    const idp = await provider()
    const service = await serviceAt('https://host.test/a')
    const browser = new HostBrowser()
    await browser.signIn(service, idp, newPerson(idp).sub)
    const token = browser.value('oauth_token') ?? ''
    for (const [name, isSession] of [
      ['oauth_token', true],
      ['__Host-oauth_token', false],
      ['__Host-oauth_token-0123456789', false],
      ['troupe-oauth_token', false],
      ['oauth_token-0123456789', false],
      ['__host-oauth_token', false],
    ] as const) {
      const session = await service.request('/oauth/session', { headers: { cookie: `${name}=${token}` } })
      assert.equal(((await session.json()) as { authenticated: boolean }).authenticated, isSession, name)
    }
  })
})

describe('a cookie whose name begins with white space of Unicode', () => {
  for (const baseUrl of ['https://host.test', 'https://host.test:8443/a'] as const) {
    it(`binds no browser to the sign-in of an attacker at ${baseUrl}, because another host of the domain can set it (WEB-26)`, async () => {
      const idp = await provider()
      const service = await serviceAt(baseUrl)
      const attacker = new HostBrowser()
      const begun = await attacker.send(service, 'GET', '/oauth/login/acme')
      const { url } = await idp.signIn(begun.headers.get('location') ?? '', newPerson(idp).sub)
      const { name, value } = readSetCookie(attacker.lines.find((line) => line.startsWith('__Host-browser')) ?? '')
      const path = url.href.slice(service.url.length)
      const open = (cookie: string) => service.request(path, { headers: { ...asBrowser, cookie } })
      for (const cookie of [
        `a=b; \u00a0${name}=${value}`,
        `a=b; ${name}\u00a0=${value}`,
        `\u00a0${name}=${value}`,
        `a=b; \u00a0 ${name}=${value}; c=d`,
      ]) {
        const refused = await open(cookie)
        assert.equal(refused.status, 400, JSON.stringify(cookie))
        assert.deepEqual(refused.headers.getSetCookie(), [])
      }
      assert.equal((await open(`a=b; ${name}=${value}`)).status, 302)
    })
  }
})
