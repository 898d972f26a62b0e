/** Requests the code of a sign-in by email. */
import assert from 'node:assert/strict'
import type { TestService } from './service.ts'
import { TestBrowser } from './sign-in.ts'

/** Begins a sign-in by email, and requests a code. */
export async function requestCode(
  service: TestService,
  email = 'ada@example.com',
  headers: Record<string, string> = {},
): Promise<{ readonly browser: TestBrowser; readonly send: (fields: Record<string, string>) => Promise<Response> }> {
  const browser = new TestBrowser(service)
  const begun = await browser.get('/oauth/login/email')
  const { searchParams } = new URL(begun.headers.get('location') ?? '')
  const [state = '', code_challenge = ''] = ['state', 'code_challenge'].map((name) => searchParams.get(name) ?? '')
  const send = (fields: Record<string, string>): Promise<Response> =>
    browser.post('/oauth/email-link', { state, code_challenge, ...fields }, headers)
  const answer = await send({ action: 'send', email })
  assert.equal(answer.status, 200)
  return { browser, send }
}
