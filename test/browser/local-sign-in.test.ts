import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { accessibilityViolations, desktop, faultsInEveryLook, openPage, type WatchedPage } from '../support/browser.ts'
import { sqliteService, type TestService } from '../support/service.ts'

const start = sqliteService()
let service: TestService

before(async () => {
  service = await start({ listen: true, host: 'localhost', name: 'Notes', localSignIn: true })
})

async function choose(): Promise<WatchedPage> {
  const page = await openPage({ viewport: desktop })
  await page.goto(service.url)
  await page.getByRole('link', { name: 'Continue as a test user' }).click()
  await page.waitForURL(/^http:\/\/127\.0\.0\.1:\d+\/interaction\//)
  return page
}

const actorOf = (page: WatchedPage): string => new URL(page.url()).pathname.split('/')[1] ?? ''

describe('the local sign-in of development', () => {
  it('states that it is for development only, and has no accessibility violation in any look', async () => {
    const page = await choose()
    assert.equal(await page.title(), 'Choose a test user · Notes')
    assert.match(await page.locator('main').innerText(), /Development only, no password needed/)
    assert.deepEqual(await faultsInEveryLook(page), [])
    assert.deepEqual(page.complaints, [])
  })

  it('signs in the test user with one click (R-OC-01)', async () => {
    const page = await choose()
    await page.getByRole('button', { name: 'Sign in as Ada Lovelace' }).click()
    await page.waitForURL(/\/www$/)
    assert.equal((await service.app.actors.findByCreator('ada@example.com'))?.id, actorOf(page))
    assert.deepEqual(page.complaints, [])
  })

  it('signs in any typed address as verified, and asks again every time (R-OC-01)', async () => {
    const page = await choose()
    await page.getByLabel('Email').fill(' Bob@Example.com ')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL(/\/www$/)
    const bob = actorOf(page)
    assert.equal((await service.app.actors.findByCreator('bob@example.com'))?.id, bob)
    // The front page redirects a signed-in user to the pages of the actor, but the login page asks again.
    await page.goto(service.url)
    await page.waitForURL(`${service.url}/${bob}/www`)
    await page.goto(`${service.url}/login`)
    await page.getByRole('link', { name: 'Continue as a test user' }).click()
    await page.getByRole('button', { name: 'Sign in as Ada Lovelace' }).click()
    await page.waitForURL(/\/www$/)
    assert.notEqual(actorOf(page), bob)
  })

  it('asks again for an invalid address (IDP-10)', async () => {
    const page = await choose()
    await page.getByLabel('Email').fill('not an address')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByRole('alert').innerText(), 'Enter a valid email address, like you@example.com.')
    assert.equal(await page.getByLabel('Email').inputValue(), 'not an address')
    assert.deepEqual(await accessibilityViolations(page), [])
  })

  it('lets the user cancel (IDP-06)', async () => {
    const page = await choose()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.waitForURL(new RegExp(`^${service.url}/`))
    assert.equal(await page.getByRole('button', { name: 'Sign in as Ada Lovelace' }).count(), 0)
    assert.equal(
      (await page.context().cookies()).some(({ name }) => name === 'oauth_token'),
      false,
    )
  })
})
