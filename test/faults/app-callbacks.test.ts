import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { authorizePath, consentIn, newPkce, registerClient } from '../support/oauth-client.ts'
import { sqliteService, type TestService } from '../support/service.ts'
import { sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'

const provider = sharedProvider()
const navigates = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }

/** Callbacks as clients register them, and callbacks that try to leave the attribute or the header of the page. */
const callbacks = [
  // Claude on the web and on a phone or a desktop: answers 307 to claude:.
  'https://claude.ai/api/mcp/auth_callback',
  'https://chatgpt.com/connector_platform_oauth_redirect',
  'https://vscode.dev/redirect',
  // Cursor, VS Code, an app with a scheme of its own, Claude Code and the Inspector.
  'cursor://anysphere.cursor-mcp/oauth/callback',
  'vscode://vscode.github-authentication/did-authenticate',
  'com.example.app:/oauth2redirect',
  'http://127.0.0.1:33418/',
  'http://localhost:6274/oauth/callback',
  'https://client.example/cb?a=1&b=2',
  'https://client.example/cb?x=%22%3E%3Cscript%3Ealert(1)%3C/script%3E',
  "https://client.example/cb?x='onmouseover='alert(1)",
  'https://client.example/cb?x=0;url=https://evil.example/,2',
  'https://client.example/cb?url=javascript:alert(1)',
]

const unescaped = (text: string): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')

describe('the page after a decision in a browser', () => {
  const start = sqliteService()

  async function asked(service: TestService, callback: string): Promise<{ browser: TestBrowser; value: string }> {
    const client = await registerClient(service, { redirect_uris: [callback], token_endpoint_auth_method: 'none' })
    const browser = new TestBrowser(service)
    await signIn(browser, await provider(), 'ada')
    const page = await browser.get(authorizePath(client, newPkce(), { redirect_uri: callback }))
    return { browser, value: consentIn(await page.text()) }
  }

  it('leads to the callback without a form, whose policy would apply to the redirects of the client (OAZ-20)', async () => {
    const service = await start(signInAt(await provider()))
    for (const callback of callbacks)
      for (const [decision, answered] of [
        ['allow', 'code'],
        ['deny', 'error'],
      ] as const) {
        const { browser, value } = await asked(service, callback)
        const answer = await browser.post('/oauth/authorize', { consent: value, decision }, navigates)
        const text = await answer.text()
        assert.deepEqual([answer.status, answer.headers.get('location')], [200, null], `${callback}: ${text}`)
        const target = (answer.headers.get('refresh') ?? '').replace(/^0; url=/, '')
        assert.ok(target.startsWith(callback), target)
        const query = new URL(target).searchParams
        assert.deepEqual([query.has(answered), query.get('state'), query.get('iss')], [true, 'state-1', service.url])
        const links = [...text.matchAll(/<a class="button" href="([^"]*)"/g)].map(([, href = '']) => unescaped(href))
        assert.deepEqual(links, [target])
        assert.doesNotMatch(text, /<form|<script>|'onmouseover/)
        const policy = answer.headers.get('content-security-policy') ?? ''
        assert.match(policy, /default-src 'none'.*form-action 'self';.*frame-ancestors 'none'/)
        assert.deepEqual(
          ['cache-control', 'referrer-policy', 'access-control-allow-origin'].map((name) => answer.headers.get(name)),
          ['no-store', 'no-referrer', null],
        )
      }
  })

  it('is a redirect for programs and for browsers that name no navigation (OAZ-20)', async () => {
    const service = await start(signInAt(await provider()))
    for (const headers of [{}, { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }]) {
      const { browser, value } = await asked(service, 'https://claude.ai/api/mcp/auth_callback')
      const answer = await browser.post('/oauth/authorize', { consent: value, decision: 'allow' }, headers)
      assert.equal(answer.status, 303)
      assert.match(answer.headers.get('location') ?? '', /^https:\/\/claude\.ai\/api\/mcp\/auth_callback\?code=/)
      assert.equal(answer.headers.get('refresh'), null)
    }
  })

  it('exists for the decision of this browser alone: other pages and browsers get no code (OAZ-20)', async () => {
    const service = await start(signInAt(await provider()))
    const { browser, value } = await asked(service, 'https://claude.ai/api/mcp/auth_callback')
    const decision = { consent: value, decision: 'allow' }
    const stranger = new TestBrowser(service)
    for (const [sender, headers] of [
      [stranger, navigates],
      [browser, { ...navigates, 'sec-fetch-site': 'cross-site' }],
    ] as const) {
      const refused = await sender.post('/oauth/authorize', decision, headers)
      assert.deepEqual([refused.status, refused.headers.get('refresh')], [403, null])
    }
    assert.equal((await browser.post('/oauth/authorize', decision, navigates)).status, 200)
    const refused = await stranger.post('/oauth/authorize', decision, navigates)
    assert.deepEqual([refused.status, refused.headers.get('refresh')], [403, null])
  })
})
