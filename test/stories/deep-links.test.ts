import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock } from '../support/manual-clock.ts'
import { sqliteService, type StartOptions, type TestService } from '../support/service.ts'
import { actorIn, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'

const provider = sharedProvider()
const start = sqliteService()

const configurations = {
  one: async () => signInAt(await provider()),
  several: async () => signInAt(await provider(), { name: 'other', displayName: 'Other' }),
  'one for browsers and one for phones': async () => signInAt(await provider(), { name: 'acme-native' }),
} as const

async function startWith(
  which: keyof typeof configurations,
  options: StartOptions = {},
): Promise<{ service: TestService; owner: string }> {
  const service = await start({ ...(await configurations[which]()), ...options })
  const owner = actorIn(await signIn(new TestBrowser(service), await provider(), 'ada'))
  return { service, owner }
}

/** Follows a link to the start of the sign-in: at the only provider, or by the button of the login page. */
async function beginning(browser: TestBrowser, link: string): Promise<string> {
  const asked = await browser.get(link)
  assert.equal(asked.status, 302)
  const location = asked.headers.get('location') ?? ''
  if (!/^http:\/\/troupe\.test(\/pre)?\/login\?/.test(location)) return location
  const page = await (await browser.get(location)).text()
  assert.match(page, /Sign in to continue to the page that you opened\./)
  const href = /<a class="button" href="([^"]*)">Continue with Acme<\/a>/.exec(page)?.[1] ?? assert.fail(page)
  return href.replaceAll('&amp;', '&')
}

async function textAt(browser: TestBrowser, answer: Response): Promise<string> {
  return (await browser.get(answer.headers.get('location') ?? '')).text()
}

describe('a link to a page of the owner, opened without a session', () => {
  for (const which of Object.keys(configurations) as (keyof typeof configurations)[]) {
    for (const path of [
      '/www/approvals/0123456789abcdef',
      '/www/properties/notes?page=2',
      '/www/trust/friend',
      '/www/properties/two%20words',
      '/properties',
      '',
    ]) {
      it(`leads to ${path === '' ? 'the actor' : path} after the sign-in, with providers: ${which}`, async () => {
        const { service, owner } = await startWith(which)
        const browser = new TestBrowser(service)
        const begin = await beginning(browser, `/${owner}${path}`)
        const answer = await signIn(browser, await provider(), 'ada', begin)
        assert.equal(answer.headers.get('location'), `http://troupe.test/${owner}${path}`)
      })
    }
  }

  it('leads back to the page below a path prefix', async () => {
    const service = await start({ ...(await configurations.several()), baseUrl: 'http://troupe.test/pre' })
    const { id } = (await service.app.actors.create({ creator: 'ada@example.com', verified: true })).actor
    const browser = new TestBrowser(service)
    const login = (await browser.get(`/${id}/www/apps`)).headers.get('location') ?? ''
    assert.equal(login, `http://troupe.test/pre/login?actor=${id}&redirect=%2Fpre%2F${id}%2Fwww%2Fapps`)
    const begin = await beginning(browser, `/${id}/www/apps`)
    const answer = await signIn(browser, await provider(), 'ada', begin)
    assert.equal(answer.headers.get('location'), `http://troupe.test/pre/${id}/www/apps`)
  })

  it('is included in the button of the local sign-in', async () => {
    const service = await start({ localSignIn: true })
    const { id } = await service.createActor()
    const browser = new TestBrowser(service)
    const login = (await browser.get(`/${id}/www/approvals/1`)).headers.get('location') ?? ''
    const page = await (await browser.get(login)).text()
    const begin = `/oauth/login/local?actor=${id}&amp;redirect=%2F${id}%2Fwww%2Fapprovals%2F1`
    assert.ok(page.includes(`href="http://troupe.test${begin}"`), page)
  })

  it('leads to the page of a form that was posted after the session ended', async () => {
    const { service, owner } = await startWith('one')
    const browser = new TestBrowser(service)
    for (const [path, page] of [
      ['/www/properties', '/www/properties'],
      ['/www/properties/notes/items', '/www/properties/notes'],
      ['/www/properties/notes/metadata', '/www/properties/notes'],
      ['/www/trust/friend/permissions', '/www/trust/friend'],
    ] as const) {
      const answer = await browser.post(`/${owner}${path}`, { value: 'x' })
      const asked = encodeURIComponent(`/${owner}${page}`)
      assert.equal(answer.headers.get('location'), `http://troupe.test/login?actor=${owner}&redirect=${asked}`)
    }
  })

  it('is omitted from the sign-in link when its address would not be a safe redirect (WEB-11)', async () => {
    const { service, owner } = await startWith('one')
    const answer = await new TestBrowser(service).get(`/${owner}/www/properties/a%5Cb`)
    assert.equal(answer.headers.get('location'), `http://troupe.test/oauth/login/acme?actor=${owner}`)
  })

  for (const redirect of [
    '//evil.example',
    'https://evil.example/',
    '/\\evil.example',
    'javascript:alert(1)',
    '/%2F/evil.example',
  ]) {
    it(`never makes the login page link to ${redirect} (WEB-11)`, async () => {
      const { service, owner } = await startWith('several')
      const signedIn = new TestBrowser(service)
      await signIn(signedIn, await provider(), 'ada')
      for (const browser of [new TestBrowser(service), signedIn]) {
        for (const actor of ['', `&actor=${owner}`]) {
          const answer = await browser.get(`/login?redirect=${encodeURIComponent(redirect)}${actor}`)
          const page = await answer.text()
          assert.equal(answer.status, 200)
          assert.ok(!page.includes('evil.example') && !page.includes('javascript:'))
          const links = [...page.matchAll(/href="([^"]*)"/g)].map(([, href = '']) => href)
          for (const href of links) assert.match(href, /^(http:\/\/troupe\.test\/|\/(?!\/)|#)/)
        }
      }
    })
  }
})

describe('the front page', () => {
  it('redirects a signed-in user to their pages, and shows other visitors how to sign in', async () => {
    const { service, owner } = await startWith('several')
    const browser = new TestBrowser(service)
    await signIn(browser, await provider(), 'ada')
    const answer = await browser.get('/')
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, `http://troupe.test/${owner}/www`])
    assert.equal((await new TestBrowser(service).get('/')).status, 200)
    const dead = new TestBrowser(service)
    dead.cookies.set('oauth_token', 'gone')
    assert.equal((await dead.get('/')).status, 200)
    // A program that requests JSON is not redirected.
    assert.equal((await browser.get('/', { accept: 'application/json' })).status, 200)
  })

  it('redirects a signed-in user to the application where there are no pages', async () => {
    const { service, owner } = await startWith('one', { webUi: false })
    const browser = new TestBrowser(service)
    await signIn(browser, await provider(), 'ada')
    assert.equal((await browser.get('/')).headers.get('location'), `http://troupe.test/${owner}/app`)
  })
})

describe('the page after a redirect', () => {
  it('reports once that the user signed out', async () => {
    const { service } = await startWith('several')
    const browser = new TestBrowser(service)
    await signIn(browser, await provider(), 'ada')
    const answer = await browser.post('/oauth/logout', {})
    assert.equal(answer.headers.get('location'), 'http://troupe.test/')
    assert.match(await textAt(browser, answer), /role="status">You’ve been signed out\.</)
    assert.ok(!(await (await browser.get('/')).text()).includes('You’ve been signed out'))
    assert.deepEqual([...browser.cookies.keys()], ['troupe-browser'])
  })

  it('reports the sign-out in place of JSON, also when the user opens the URL or the session had expired', async () => {
    const { service } = await startWith('several')
    for (const send of [
      (browser: TestBrowser) => browser.get('/oauth/logout', { 'sec-fetch-site': 'none' }),
      (browser: TestBrowser) => browser.post('/oauth/logout', {}),
    ]) {
      const browser = new TestBrowser(service)
      assert.match(await textAt(browser, await send(browser)), /role="status">You’ve been signed out\.</)
    }
    const program = await service.request('/oauth/logout', { method: 'POST' })
    assert.equal(((await program.json()) as { success: boolean }).success, true)
  })

  it('reports that the account was deleted', async () => {
    const { service, owner } = await startWith('several')
    const browser = new TestBrowser(service)
    await signIn(browser, await provider(), 'ada')
    const answer = await browser.post(`/${owner}/www/settings`, { action: 'delete', confirmation: 'ada@example.com' })
    assert.equal(answer.headers.get('location'), 'http://troupe.test/')
    assert.match(await textAt(browser, answer), /role="status">Your account was deleted\.</)
  })

  it('reports that the session expired, with or without its cookie', async () => {
    const clock = new ManualClock(Date.now())
    const { service, owner } = await startWith('several', { now: clock.now })
    for (const hasCookie of [true, false]) {
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      clock.pass(3_600_001)
      // A browser drops the cookie after one hour.
      if (!hasCookie) browser.cookies.delete('oauth_token')
      const answer = await browser.get(`/${owner}/www/apps`)
      assert.match(await textAt(browser, answer), /role="status">Your session expired\. Sign in to continue\.</)
      assert.deepEqual([...browser.cookies.keys()], ['troupe-browser'])
    }
    const stranger = new TestBrowser(service)
    assert.ok(!(await textAt(stranger, await stranger.get(`/${owner}/www/apps`))).includes('expired'))
  })

  it('reports that the session had expired when the only provider signs the user in again immediately', async () => {
    const clock = new ManualClock(Date.now())
    const { service, owner } = await startWith('one', { now: clock.now })
    const browser = new TestBrowser(service)
    await signIn(browser, await provider(), 'ada')
    clock.pass(3_600_001)
    const begin = (await browser.get(`/${owner}/www/apps`)).headers.get('location') ?? ''
    const answer = await signIn(browser, await provider(), 'ada', begin)
    assert.equal(answer.headers.get('location'), `http://troupe.test/${owner}/www/apps`)
    const page = await textAt(browser, answer)
    assert.match(page, /role="status"[^>]*>Your session had expired\. You’re signed in again\.</)
  })

  it('names the account of the signed-in user when the page belongs to another account (IDP-11)', async () => {
    for (const which of ['one', 'several'] as const) {
      const { service, owner } = await startWith(which)
      const browser = new TestBrowser(service)
      const own = actorIn(await signIn(browser, await provider(), 'bob'))
      const asked = await browser.get(`/${owner}/www/approvals/1`)
      const page = await textAt(browser, asked)
      assert.ok(page.includes('You’re signed in as bob@example.com, but this page belongs to another account.'))
      assert.ok(page.includes(`<a href="http://troupe.test/${own}/www">Continue as bob@example.com</a>`))
      assert.ok(!page.includes('ada@example.com'))
      // Bob's session continues, and Ada reaches the page by signing in.
      assert.equal((await browser.get(`/${own}/www`)).status, 200)
      const begin = /<a class="button" href="([^"]*)">Continue with Acme<\/a>/.exec(page)?.[1] ?? ''
      const answer = await signIn(browser, await provider(), 'ada', begin.replaceAll('&amp;', '&'))
      assert.equal(answer.headers.get('location'), `http://troupe.test/${owner}/www/approvals/1`)
    }
  })

  it('reports that the provider confirmed a different account than the page belongs to (IDP-11)', async () => {
    const { service, owner } = await startWith('one')
    const browser = new TestBrowser(service)
    const begin = (await browser.get(`/${owner}/www/approvals/1`)).headers.get('location') ?? ''
    const answer = await signIn(browser, await provider(), 'bob', begin)
    assert.equal(answer.status, 403)
    assert.match(await answer.text(), /You signed in with a different account than expected/)
    assert.equal(browser.cookies.has('oauth_token'), false)
  })

  it('offers the requested page to the owner who is already signed in', async () => {
    const { service, owner } = await startWith('several')
    const browser = new TestBrowser(service)
    await signIn(browser, await provider(), 'ada')
    const page = await (await browser.get(`/login?actor=${owner}&redirect=%2F${owner}%2Fwww%2Fapps`)).text()
    assert.ok(page.includes(`<a href="/${owner}/www/apps">Continue as ada@example.com</a>`))
    assert.ok(!page.includes('another account'))
  })
})
