/** Allows a client and ends its access, as the owner in a browser that is signed in. */
import assert from 'node:assert/strict'
import { consentIn } from '../support/oauth-client.ts'
import type { TestBrowser } from '../support/sign-in.ts'

/** Allows the request, and returns the redirect back to the client. */
export async function codeOf(browser: TestBrowser, path: string): Promise<URL> {
  const page = await browser.get(path)
  const html = await page.text()
  if (page.status !== 200) throw new Error(`Cannot open the consent page: ${page.status} ${html.slice(0, 2000)}`)
  const answer = await browser.post('/oauth/authorize', { consent: consentIn(html), decision: 'allow' })
  const location = answer.headers.get('location')
  if (location === null) throw new Error(`The consent was refused: ${answer.status} ${await answer.text()}`)
  return new URL(location)
}

/** Ends each relationship of the owner, and returns their number. */
export async function endAccess(browser: TestBrowser): Promise<number> {
  const { service } = browser
  const authorization = `Bearer ${browser.cookies.get('oauth_token') ?? ''}`
  const session = (await (await browser.get('/oauth/session', { accept: 'application/json' })).json()) as {
    readonly actor_id: string
  }
  const id = session.actor_id
  const all = await service.request(`/${id}/trust`, { headers: { authorization } })
  const trusts = (await all.json()) as readonly { readonly peerid: string; readonly relationship: string }[]
  for (const { peerid, relationship } of trusts) {
    const path = `/${id}/trust/${relationship}/${encodeURIComponent(peerid)}`
    assert.equal((await service.request(path, { method: 'DELETE', headers: { authorization } })).status, 204)
  }
  return trusts.length
}
