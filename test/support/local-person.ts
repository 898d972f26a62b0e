/** A person at the local provider of development, in a browser of their own. */
import assert from 'node:assert/strict'
import { fetch } from 'undici'
import { readSetCookie } from '../../src/testing/browser.ts'

/**
 * Signs in at the local provider, or cancels.
 *
 * @param email The typed address. Null cancels.
 * @returns the URL of the service to which the provider sends the browser.
 */
export async function signInLocally(authorizationUrl: string, email: string | null): Promise<string> {
  const { origin } = new URL(authorizationUrl)
  const cookies = new Map<string, string>()
  const visit = async (address: string, form?: URLSearchParams): Promise<string> => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const sent = form === undefined ? {} : { method: 'POST', body: form }
    const answer = await fetch(address, { ...sent, redirect: 'manual', headers: { cookie } })
    for (const line of answer.headers.getSetCookie()) {
      const { name, value } = readSetCookie(line)
      cookies.set(name, value)
    }
    assert.equal(answer.status, 303, await answer.text())
    return new URL(answer.headers.get('location') ?? '', origin).href
  }
  const page = await visit(authorizationUrl)
  let next = await visit(page, new URLSearchParams(email === null ? { cancel: '' } : { email }))
  while (next.startsWith(origin)) next = await visit(next)
  return next
}
