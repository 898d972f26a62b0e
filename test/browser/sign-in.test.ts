import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { accessibilityViolations, isTooWide, openPage, phone, type WatchedPage } from '../support/browser.ts'
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts'
import { sqliteService, type TestService } from '../support/service.ts'
import { signInAt } from '../support/sign-in.ts'

let provider: IdentityProvider
const start = sqliteService()
let service: TestService
const links: string[] = []

before(async () => {
  provider = await startIdentityProvider({
    people: {
      ada: { email: 'ada@example.com', email_verified: true },
      claimed: { email: 'claimed@example.com', email_verified: true },
      silent: { name: 'Without Address' },
    },
  })
  // A different site than the provider, which runs at 127.0.0.1.
  service = await start({
    listen: true,
    host: 'localhost',
    name: 'Notes',
    ...signInAt(provider, { name: 'form', displayName: 'Form', responseMode: 'form_post' }),
    declare: (app) =>
      app.on('email_verification_required', ({ verification_url }) => void links.push(verification_url)),
  })
})
after(() => provider.close())

async function open(): Promise<WatchedPage> {
  const page = await openPage({ viewport: phone, bypassCSP: true })
  return page
}

/** Clicks the button of the provider, and then the button of the person at the provider. */
async function signIn(page: WatchedPage, button: string, person: string): Promise<void> {
  await page.goto(`${service.url}/login`)
  await page.getByRole('link', { name: `Continue with ${button}`, exact: true }).click()
  await page.getByRole('button', { name: person, exact: true }).click()
}

async function assertReadable(page: WatchedPage): Promise<void> {
  assert.deepEqual(await accessibilityViolations(page), [])
  assert.equal(await isTooWide(page), false)
  assert.deepEqual(page.complaints, [])
}

describe('a sign-in in a real browser', () => {
  for (const [button, what] of [
    ['Acme', 'in the query'],
    ['Form', 'by a cross-site form, which carries no Lax cookie'],
  ] as const) {
    it(`ends at the page of the actor when the provider responds ${what} (R-OC-01, R-OC-02, IDP-03)`, async () => {
      const page = await open()
      await signIn(page, button, 'ada')
      await page.waitForURL(/\/www$/)
      const actor = await service.app.actors.findByCreator('ada@example.com')
      assert.equal(page.url(), `${service.url}/${actor?.id}/www`)
      const cookies = await page.context().cookies()
      const session = cookies.find(({ name }) => name === 'oauth_token')
      assert.deepEqual(
        [session?.httpOnly, session?.secure, session?.sameSite, session?.path],
        [true, false, 'Lax', '/'],
      )
    })
  }

  it('does not end in a browser that did not begin it (IDP-03)', async () => {
    const begun = await service.request('/oauth/login/acme')
    const { url } = await provider.signIn(begun.headers.get('location') ?? '', 'ada')
    const victim = await open()
    await victim.goto(`${service.url}/login`)
    const answer = await victim.goto(url.href)
    assert.equal(answer?.status(), 400)
    assert.match(await victim.locator('main').innerText(), /you began in another browser/)
    const cookies = await victim.context().cookies()
    assert.equal(
      cookies.some(({ name }) => name === 'oauth_token'),
      false,
    )
  })

  it('asks for an address, reports an invalid one, and continues; a link verifies it by a button (R-OC-09, R-OC-13)', async () => {
    const page = await open()
    await signIn(page, 'Acme', 'silent')
    await page.waitForURL(/\/oauth\/email\?/)
    assert.equal(await page.title(), 'Confirm your email · Notes')
    await assertReadable(page)
    await page.getByLabel('Email').fill('somebody@nowhere')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByLabel('Email').inputValue(), 'somebody@nowhere')
    assert.equal(await page.title(), 'Error: Confirm your email · Notes')
    assert.deepEqual(await accessibilityViolations(page), [])
    // The browser complains about the status of the invalid form.
    assert.equal(page.complaints.splice(0).length, 1)
    await page.getByLabel('Email').fill('Silent@Example.com')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.waitForURL(/\/www$/)
    const actor = await service.app.actors.findByCreator('silent@example.com')
    assert.equal((await actor?.signIn.get())?.emailVerified, false)

    await page.goto(links.at(-1) ?? '')
    // The browser reports that leaving a page closed its stream.
    page.complaints.length = 0
    await assertReadable(page)
    assert.equal((await actor?.signIn.get())?.emailVerified, false)
    await page.getByRole('button', { name: /^Verify / }).click()
    await page.getByRole('heading', { name: 'Email verified' }).waitFor()
    await assertReadable(page)
    assert.equal((await actor?.signIn.get())?.emailVerified, true)
    await page.getByRole('link', { name: 'Continue' }).click()
    await page.waitForURL(/\/www$/)
  })

  it('asks for the passphrase of an existing actor, and opens it (IDP-08)', async () => {
    const mine = await service.createActor('claimed@example.com')
    const page = await open()
    await signIn(page, 'Form', 'claimed')
    await page.getByRole('heading', { name: 'There is already an account with this email' }).waitFor()
    await assertReadable(page)
    await page.getByLabel('I created it. Passphrase').fill('wrong')
    await page.getByRole('button', { name: 'Open the existing account' }).click()
    await page.getByRole('alert').waitFor()
    assert.deepEqual(await accessibilityViolations(page), [])
    await page.getByLabel('I created it. Passphrase').fill(mine.passphrase)
    await page.getByRole('button', { name: 'Open the existing account' }).click()
    await page.waitForURL(`${service.url}/${mine.id}/www`)
  })
})
