import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { faultsInEveryLook, openPage, phone, type WatchedPage } from '../support/browser.ts'
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts'
import { authorizePath, newPkce, redemption, registerClient, requestTokens } from '../support/oauth-client.ts'
import { sqliteService, type StartOptions, type TestService } from '../support/service.ts'
import { signInAt } from '../support/sign-in.ts'
import { until } from '../support/until.ts'

const undo: (() => Promise<void> | void)[] = []
after(async () => {
  for (const step of undo.reverse()) await step()
})

const begin = sqliteService()
const start = (options: StartOptions): Promise<TestService> =>
  begin({ listen: true, host: 'localhost', name: 'Notes', ...options })

async function open(): Promise<WatchedPage> {
  const page = await openPage({ viewport: phone })
  return page
}

/** A program on this machine that receives the redirect, and then a page of its own at another port. */
interface Program {
  readonly redirectUri: string
  readonly last: string
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  undo.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function waitingProgram(): Promise<Program> {
  const page = (text: string): Server =>
    createServer((_request, response) => void response.setHeader('content-type', 'text/html').end(`<h1>${text}</h1>`))
  const url = await listening(page('Thank you'))
  return { redirectUri: `${url}/back`, last: url }
}

let provider: IdentityProvider
let program: Program
before(async () => {
  provider = await startIdentityProvider({
    people: {
      ada: { email: 'ada@example.com', email_verified: true },
      claimed: { email: 'claimed@example.com', email_verified: true },
      silent: { name: 'Without Address' },
    },
  })
  undo.push(() => provider.close())
  program = await waitingProgram()
})

async function codeAt(page: WatchedPage): Promise<URL> {
  await page.waitForURL((url) => url.href.startsWith(program.redirectUri))
  assert.equal(await page.getByRole('heading').innerText(), 'Thank you')
  return new URL(page.url())
}

describe('authorizing a client in a real browser', () => {
  const options = { redirect_uris: ['http://127.0.0.1/back'], token_endpoint_auth_method: 'none' }
  const asked = { redirect_uri: '' }
  before(() => {
    asked.redirect_uri = program.redirectUri
  })

  for (const kind of ['the local sign-in of development', 'a provider'] as const) {
    it(`leads from the page through ${kind} to the program, and next time directly (R-AS-02, OAZ-11)`, async () => {
      const service = await start(kind === 'a provider' ? signInAt(provider) : { localSignIn: true })
      const client = await registerClient(service, options)
      const pkce = newPkce()
      const page = await open()
      await page.goto(service.url + authorizePath(client, pkce, asked))
      assert.equal(await page.title(), 'A program wants to connect to your Notes account · Notes')
      await page.getByRole('button', { name: /^Sign in with .* to allow$/ }).click()
      if (kind === 'a provider') await page.getByRole('button', { name: 'ada', exact: true }).click()
      else await page.getByRole('button', { name: 'Sign in as Ada Lovelace' }).click()
      const back = await codeAt(page)
      assert.equal(back.searchParams.get('state'), 'state-1')
      assert.equal(back.searchParams.get('iss'), service.url)
      const code = back.searchParams.get('code') ?? ''
      const form = { ...redemption(client, code, pkce), redirect_uri: program.redirectUri }
      assert.equal((await requestTokens(service, form)).status, 200)
      // The browser has a session from here on.
      await page.goto(service.url + authorizePath(client, pkce, asked))
      assert.match(await page.locator('main').innerText(), /ada@example\.com/)
      await page.getByRole('button', { name: 'Allow', exact: true }).click()
      assert.ok((await codeAt(page)).searchParams.has('code'))
      await page.goto(service.url + authorizePath(client, pkce, asked))
      await page.getByRole('button', { name: 'Deny' }).click()
      assert.equal((await codeAt(page)).searchParams.get('error'), 'access_denied')
      assert.deepEqual(
        page.complaints.filter((text) => !text.includes('favicon')),
        [],
      )
    })
  }

  it('has no accessibility violation in any look', async () => {
    const service = await start(signInAt(provider))
    const client = await registerClient(service, options)
    const page = await openPage({ bypassCSP: true })
    await page.goto(service.url + authorizePath(client, newPkce(), asked))
    assert.deepEqual(await faultsInEveryLook(page), [])
  })

  it('reports to the program that the provider vouches for no address, and asks for none (R-OC-20)', async () => {
    const service = await start(signInAt(provider))
    const client = await registerClient(service, options)
    const page = await open()
    await page.goto(service.url + authorizePath(client, newPkce(), asked))
    await page.getByRole('button', { name: /^Sign in with .* to allow$/ }).click()
    await page.getByRole('button', { name: 'silent', exact: true }).click()
    assert.equal((await codeAt(page)).searchParams.get('error'), 'access_denied')
  })

  it('continues to the program from the page that links an existing actor (IDP-08)', async () => {
    const service = await start(signInAt(provider))
    const mine = await service.createActor('claimed@example.com')
    const client = await registerClient(service, options)
    const page = await open()
    await page.goto(service.url + authorizePath(client, newPkce(), asked))
    await page.getByRole('button', { name: /^Sign in with .* to allow$/ }).click()
    await page.getByRole('button', { name: 'claimed', exact: true }).click()
    await page.getByLabel('I created it. Passphrase').fill(mine.passphrase)
    await page.getByRole('button', { name: 'Open the existing account' }).click()
    assert.ok((await codeAt(page)).searchParams.has('code'))
  })

  it('reaches an app whose callback answers with a redirect to a scheme of its own, as claude.ai does (OAZ-20)', async () => {
    const callbacks: string[] = []
    const site = await listening(
      createServer((incoming, response) => {
        callbacks.push(incoming.url ?? '')
        const query = new URL(incoming.url ?? '', 'http://callback.test').search
        response.writeHead(307, { location: `claude-test://login-callback${query}` }).end()
      }),
    )
    const redirectUri = `${site.replace('127.0.0.1', 'localhost')}/api/mcp/auth_callback`
    for (const kind of ['a session', 'a provider'] as const) {
      const service = await start(signInAt(provider))
      const client = await registerClient(service, { ...options, redirect_uris: [redirectUri] })
      const pkce = newPkce()
      const page = await open()
      const opened: string[] = []
      const devtools = await page.context().newCDPSession(page)
      await devtools.send('Network.enable')
      devtools.on('Network.requestWillBeSent', ({ request }) => void opened.push(request.url))
      devtools.on('Page.frameRequestedNavigation', ({ url }) => void opened.push(url))
      await devtools.send('Page.enable')
      await page.goto(service.url + authorizePath(client, pkce, { redirect_uri: redirectUri }))
      if (kind === 'a session') {
        await page.getByRole('button', { name: /^Sign in with .* to allow$/ }).click()
        await page.getByRole('button', { name: 'ada', exact: true }).click()
        await until(() => callbacks.length > 0)
        callbacks.length = 0
        await page.goto(service.url + authorizePath(client, pkce, { redirect_uri: redirectUri }))
        await page.getByRole('button', { name: 'Allow', exact: true }).click()
      } else {
        await page.getByRole('button', { name: /^Sign in with .* to allow$/ }).click()
        await page.getByRole('button', { name: 'ada', exact: true }).click()
      }
      await until(() => callbacks.length > 0)
      await until(() => opened.some((url) => url.startsWith('claude-test://login-callback?code=')))
      assert.deepEqual(
        page.complaints.filter((text) => text.includes('form-action')),
        [],
      )
      assert.equal(await page.getByRole('heading').innerText(), 'Back to the app')
      const link = (await page.getByRole('link', { name: /^Continue to/ }).getAttribute('href')) ?? ''
      assert.equal(link, `${redirectUri}${(callbacks[0] ?? '').replace('/api/mcp/auth_callback', '')}`)
      assert.equal(await page.locator('form').count(), 0)
      callbacks.length = 0
    }
  })

  it('sends its form only to providers and the program', async () => {
    const service = await start(signInAt(provider))
    const client = await registerClient(service, options)
    const page = await open()
    await page.goto(service.url + authorizePath(client, newPkce(), asked))
    const refusal = page.waitForEvent('console', (message) => message.text().includes('form-action'))
    await page.evaluate("document.forms[0].action = 'http://elsewhere.example/'; document.forms[0].submit()")
    await refusal
    assert.ok(page.url().startsWith(service.url))
  })
})

describe('an address that a user types on the front page', () => {
  it('is passed to the provider, where the browser continues (R-ACT-01)', async () => {
    const service = await start(signInAt(provider))
    const page = await open()
    await page.goto(service.url)
    // A custom template may contain this form. The built-in page shows links to the providers instead.
    await page.evaluate(
      `document.body.innerHTML = '<form method="post" action="/"><input name="creator" value="ada@example.com"><button>Go</button></form>'`,
    )
    await page.getByRole('button', { name: 'Go' }).click()
    await page.getByRole('button', { name: 'ada', exact: true }).click()
    await page.waitForURL(/\/www$/)
  })
})
