import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { accessibilityViolations, openPage, type WatchedPage } from '../support/browser.ts'
import { Workplace } from '../support/program.ts'

const example = join(dirname(dirname(import.meta.dirname)), 'examples', 'spa', 'app.ts')

const place = new Workplace()
let url = ''

before(async () => {
  const program = place.start(['dev', example], { env: { PORT: '0' } })
  url = (await program.prints(/is ready at (http:\/\/localhost:\d+)/))[1] ?? ''
})
after(() => place.remove())

async function open(path: string): Promise<WatchedPage> {
  const page = await openPage({ bypassCSP: false })
  await page.goto(url + path)
  return page
}

/** Signs in with this address, and returns the page of the application. */
async function signedIn(email: string): Promise<WatchedPage> {
  const page = await open('/login')
  await page.getByRole('button', { name: 'Continue with local sign-in' }).click()
  await page.getByLabel('Email', { exact: true }).fill(email)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL(/\/app$/)
  return page
}

const add = async (page: WatchedPage, text: string): Promise<void> => {
  await page.getByLabel('What is to be done?').fill(text)
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByRole('status').getByText('Added.').waitFor()
}
const tasks = (page: WatchedPage): Promise<string[]> => page.locator('#tasks span').allTextContents()

describe('the example single-page application', () => {
  it('signs in at the provider, returns to /<actor>/app and uses the actor (R-WEB-04, R-OC-16)', async () => {
    const page = await signedIn('ada@example.com')
    assert.match(new URL(page.url()).pathname, /^\/[0-9a-f]{32}\/app$/)
    assert.equal(new URL(page.url()).search, '')
    await add(page, 'Write the first program')
    await add(page, '<b>Tea</b>')
    await page.getByText('<b>Tea</b>').waitFor()
    assert.deepEqual(await tasks(page), ['Write the first program', '<b>Tea</b>'])
    await page.getByRole('button', { name: 'Done: Write the first program' }).click()
    await page.getByText('Well done.').waitFor()
    // The page reads the list again behind the message.
    await page.locator('#tasks').getByText('Write the first program').waitFor({ state: 'detached' })
    assert.deepEqual(await tasks(page), ['<b>Tea</b>'])
    // There was no session to restore before the sign-in.
    assert.deepEqual(
      page.complaints.filter((text) => !/\/oauth\/spa\/token|status of 40[01]/.test(text)),
      [],
    )
  })

  it('stores no token within reach of later scripts, and restores the session by the cookie alone (R-WEB-04)', async () => {
    const page = await signedIn('grace@example.com')
    await add(page, 'Find the moth')
    assert.deepEqual(await page.evaluate('[document.cookie, {...localStorage}, {...sessionStorage}]'), ['', {}, {}])
    const cookies = await page.context().cookies()
    const refresh = cookies.find(({ name }) => name === 'refresh_token')
    assert.deepEqual([refresh?.httpOnly, refresh?.secure, refresh?.sameSite, refresh?.path], [true, false, 'Lax', '/'])
    assert.equal(
      cookies.some(({ name }) => ['access_token', 'oauth_token'].includes(name)),
      false,
    )
    await page.reload()
    await page.getByText('Find the moth').waitFor()
    assert.match(page.url(), /\/app$/)
  })

  it('signs out, and keeps no credential for the actor (R-WEB-04)', async () => {
    const page = await signedIn('alan@example.com')
    await add(page, 'Break the code')
    const address = page.url()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out.').waitFor()
    assert.equal(new URL(page.url()).pathname, '/login')
    await page.goto(address)
    await page.getByRole('button', { name: 'Continue with local sign-in' }).waitFor()
    assert.equal(new URL(page.url()).pathname, '/login')
  })

  it('reports a cancelled sign-in (R-WEB-04)', async () => {
    const page = await open('/login')
    await page.getByRole('button', { name: 'Continue with local sign-in' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.waitForURL(/\/login/)
    await page.locator('#message:not(:empty)').waitFor()
    assert.notEqual(await page.getByRole('status').textContent(), '')
    // The page fetches the providers after it showed the message.
    const signIn = page.getByRole('button', { name: 'Continue with local sign-in' })
    await signIn.waitFor()
    assert.equal(await signIn.count(), 1)
  })

  it('has no accessibility violation, and runs under the Content-Security-Policy of the service (R-WEB-04)', async () => {
    const page = await openPage({ bypassCSP: true })
    const answer = await page.goto(`${url}/login`)
    assert.match(answer?.headers()['content-security-policy'] ?? '', /script-src http:\/\/localhost:\d+\/assets\/;/)
    await page.getByRole('button', { name: 'Continue with local sign-in' }).waitFor()
    assert.deepEqual(await accessibilityViolations(page), [])
  })
})
