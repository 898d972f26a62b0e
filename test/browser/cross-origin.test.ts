import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import { openPage, type WatchedPage } from '../support/browser.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

/** Starts a foreign site with an empty page. Other ports of one host are other origins of the same site. */
async function site(host: string): Promise<{ server: Server; origin: string }> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Elsewhere</title><body></body>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, origin: `http://${host}:${(server.address() as AddressInfo).port}` }
}

describe('a browser with a session', () => {
  const start = sqliteService()
  let service: TestService
  let actor: TestActor
  let named: { server: Server; origin: string }
  let stranger: { server: Server; origin: string }
  let elsewhere: { server: Server; origin: string }
  let page: WatchedPage

  before(async () => {
    named = await site('127.0.0.1')
    stranger = await site('127.0.0.1')
    elsewhere = await site('localhost')
    service = await start({ listen: true, spaCorsOrigins: [named.origin] })
    actor = await service.createActor('ada@example.com')
  })
  after(async () => {
    for (const { server } of [named, stranger, elsewhere]) {
      server.closeAllConnections()
      server.close()
    }
  })
  beforeEach(async () => {
    page = await openPage()
    await page.goto(service.url)
    const fields = { grant_type: 'passphrase', actor_id: actor.id, passphrase: actor.passphrase }
    assert.equal((await send('/oauth/spa/token', { ...fields, token_delivery: 'cookie' })).status, 200)
    assert.equal(await isSignedIn(), true)
  })

  /** Sends a request as a script of the open page. Status 0 means that the browser hides the response. */
  async function send(
    path: string,
    body?: object,
    mode: 'cors' | 'no-cors' = 'cors',
  ): Promise<{ status: number; text: string }> {
    const asked = { url: `${service.url}${path}`, body: body === undefined ? null : JSON.stringify(body), mode }
    return page.evaluate(async ({ url, body: text, mode: how }) => {
      try {
        const answer = await fetch(url, {
          credentials: 'include',
          mode: how,
          ...(text === null ? {} : { method: 'POST', body: text }),
          ...(text === null || how === 'no-cors' ? {} : { headers: { 'content-type': 'application/json' } }),
        })
        return { status: answer.status, text: await answer.text() }
      } catch {
        return { status: 0, text: '' }
      }
    }, asked)
  }

  async function isSignedIn(): Promise<boolean> {
    const { text } = await send('/oauth/session')
    return (JSON.parse(text) as { authenticated: boolean }).authenticated
  }

  const cookies = async (): Promise<string[]> =>
    (await page.context().cookies(service.url)).map(({ name }) => name).sort()

  it('stores the tokens where no script of any page can read them (WEB-08)', async () => {
    assert.deepEqual(await cookies(), ['access_token', 'oauth_token', 'refresh_token'])
    assert.equal(await page.evaluate('document.cookie'), '')
    for (const { httpOnly, secure, sameSite, path } of await page.context().cookies(service.url)) {
      assert.deepEqual(
        { httpOnly, secure, sameSite, path },
        { httpOnly: true, secure: false, sameSite: 'Lax', path: '/' },
      )
    }
  })

  it('lets the configured site use and refresh the session (WEB-07, CHOICE-37)', async () => {
    await page.goto(named.origin)
    assert.equal(await isSignedIn(), true)
    const refreshed = await send('/oauth/spa/token', { grant_type: 'refresh_token', token_delivery: 'cookie' })
    assert.equal(refreshed.status, 200)
    assert.equal(await isSignedIn(), true)
  })

  it('lets another origin read nothing, and change nothing with a hidden response (WEB-07, WEB-04)', async () => {
    await page.goto(stranger.origin)
    for (const path of ['/oauth/session', `/${actor.id}/properties`]) assert.equal((await send(path)).status, 0)
    for (const path of ['/oauth/spa/token', '/oauth/logout', '/oauth/spa/logout', '/oauth/revoke']) {
      const body = { grant_type: 'refresh_token', token_delivery: 'cookie' }
      assert.equal((await send(path, body)).status, 0)
      assert.equal((await send(path, body, 'no-cors')).status, 0)
    }
    await page.goto(service.url)
    assert.equal(await isSignedIn(), true)
    assert.deepEqual(await cookies(), ['access_token', 'oauth_token', 'refresh_token'])
  })

  it('asks before a link of another site signs out, with one button (R-OC-10, CHOICE-62)', async () => {
    await page.goto(elsewhere.origin)
    await page.setContent(`<a href="${service.url}/oauth/logout">A kitten</a>`)
    await page.getByText('A kitten').click()
    await page.getByRole('heading', { name: /^Sign out of / }).waitFor()
    assert.deepEqual(await cookies(), ['access_token', 'oauth_token', 'refresh_token'])
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${service.url}/`)
    assert.deepEqual(await cookies(), [])
    assert.equal(await isSignedIn(), false)
  })

  it('signs out with a form of the service (R-OC-10)', async () => {
    await page.goto(`${service.url}/${actor.id}/www`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${service.url}/`)
    await page.getByText('You’ve been signed out.').waitFor()
    assert.deepEqual(await cookies(), [])
    // No provider is configured, so the browser would ask for the passphrase.
    assert.equal((await page.goto(`${service.url}/${actor.id}/www`))?.status(), 401)
  })
})
