/** A start is refused when calls would wait for an approval that no owner can give. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openid } from '../../src/index.ts'
import type { App } from '../../src/troupe.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'

const pay = (app: App): App => app.action('pay', { confirm: 'owner' }, () => ({}))
const acme = openid({ name: 'acme', issuer: 'https://id.example.com', clientId: 'a', clientSecret: 'b' })

forEachService((start) => {
  const open = (options: StartOptions): Promise<TestService> =>
    start({ mode: 'production', baseUrl: 'https://shop.example.com', declare: pay, webUi: false, ...options })

  describe("an operation with confirm: 'owner' in production", () => {
    it('is refused at the start without pages and without a sign-in, and the sentence says what to do', async () => {
      const message = (what: string): string =>
        `Cannot start with the ${what}, which needs the approval of the owner: the pages are off (TROUPE_WEB_UI), and no owner can sign in to use /<actor>/approvals. Turn the pages on, configure an identity provider or the option authenticate, or set TROUPE_APPROVAL_URL to the application’s own page.`
      await assert.rejects(open({}), { name: 'ConfigError', message: message('action "pay"') })
      for (const declare of [
        (app: App): App => app.action('*', { confirm: 'owner' }, () => ({})),
        (app: App): App => app.action('*', { mcp: { confirm: 'owner' } }, () => ({})),
      ])
        await assert.rejects(open({ declare }), { name: 'ConfigError', message: message('action "*"') })
      const declare = (app: App): App => app.method('report', { confirm: 'owner' }, () => ({}))
      await assert.rejects(open({ declare }), { name: 'ConfigError', message: message('method "report"') })
      const withoutPassphrase = open({ mode: 'development', devtest: false })
      await assert.rejects(withoutPassphrase, { name: 'ConfigError', message: message('action "pay"') })
    })

    for (const [what, options] of Object.entries({
      'the pages of the service': { webUi: true },
      'an identity provider': { signIn: [acme] },
      'the users of an embedding program': { authenticate: () => null },
      'a page of the application': { approvalUrl: 'https://shop.example.com/approve/{approval}' },
      'the passphrase in development': { mode: 'development' },
      'the local sign-in of development': { mode: 'development', devtest: false, localSignIn: true },
    } satisfies Record<string, StartOptions>)) {
      it(`starts with ${what}`, async () => {
        assert.equal((await (await open(options)).request('/health/live')).status, 200)
      })
    }

    it('does not matter for an application without such an operation', async () => {
      const service = await open({ declare: (app) => app.action('pay', () => ({})) })
      assert.equal((await service.request('/health/live')).status, 200)
    })
  })
})
