import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { passkey } from '../../src/index.ts'
import { accessibilityViolations, isTooWide, phone, type WatchedPage } from '../support/browser.ts'
import { openDevice } from '../support/passkeys.ts'
import { sqliteService, type TestService } from '../support/service.ts'

const start = sqliteService()
let service: TestService

before(async () => {
  service = await start({ listen: true, host: 'localhost', name: 'Notes', signIn: [passkey()] })
})

/** Creates an account on the device. @returns its recovery codes. */
async function signUp(page: WatchedPage, name: string, at = service): Promise<readonly string[]> {
  await page.goto(`${at.url}/login`)
  await page.getByRole('link', { name: 'Continue with Passkey' }).click()
  await page.getByLabel('Your name').fill(name)
  await page.getByRole('button', { name: 'Create account with a passkey' }).click()
  const codes = page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem')
  await codes.first().waitFor()
  return codes.allInnerTexts()
}

async function toPasskeyPage(page: WatchedPage): Promise<void> {
  await page.goto(`${service.url}/login`)
  await page.getByRole('link', { name: 'Continue with Passkey' }).click()
}

async function signOut(page: WatchedPage): Promise<void> {
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You’ve been signed out.').waitFor()
}

async function assertReadable(page: WatchedPage): Promise<void> {
  assert.deepEqual(await accessibilityViolations(page), [])
  assert.equal(await isTooWide(page), false)
  assert.deepEqual(page.complaints, [])
}

/** The browser reports the status of a refused form. */
async function assertRefusalReadable(page: WatchedPage, status: number): Promise<void> {
  const [complaint = '', ...others] = page.complaints.splice(0)
  assert.match(complaint, new RegExp(` ${status} `))
  assert.deepEqual(others, [])
  await assertReadable(page)
}

describe('a passkey in a real browser', () => {
  it('creates an account, and signs in to it again', async () => {
    const { page } = await openDevice({ viewport: phone, bypassCSP: true })
    await toPasskeyPage(page)
    await assertReadable(page)
    const codes = await signUp(page, 'Ada Lovelace')
    assert.equal(codes.length, 10)
    assert.match(codes[0] ?? '', /^[0-9a-z]{4}(-[0-9a-z]{4}){6}$/)
    await assertReadable(page)
    await page.getByRole('link', { name: 'I saved them. Continue' }).click()
    await page.waitForURL(/\/www$/)
    const first = page.url()
    const actor = await service.app.actors.findByCreator('Ada Lovelace')
    assert.equal(first, `${service.url}/${actor?.id}/www`)
    await signOut(page)
    await toPasskeyPage(page)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.waitForURL(/\/www$/)
    assert.equal(page.url(), first)
    assert.deepEqual(page.complaints, [])
  })

  it('says why the device gave no passkey, and leaves the page as it is', async () => {
    const device = await openDevice()
    const { page } = device
    await toPasskeyPage(page)
    const address = page.url()
    await device.confirms(false)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    const alert = page.getByRole('alert').first()
    await page.getByText('Nothing happened: you canceled').first().waitFor()
    assert.match(await alert.innerText(), /this device has no passkey for this service/)
    assert.equal(page.url(), address)
    await device.confirms(true)
    await page.getByLabel('Your name').fill('Grace')
    await page.getByRole('button', { name: 'Create account with a passkey' }).click()
    await page.getByRole('list', { name: 'Recovery codes' }).waitFor()
  })

  it('is refused with a reason when its account is gone, and a recovery code replaces a lost one', async () => {
    const device = await openDevice({ viewport: phone, bypassCSP: true })
    const { page } = device
    const codes = await signUp(page, 'Charles Babbage')
    await page.getByRole('link', { name: 'I saved them. Continue' }).click()
    await page.waitForURL(/\/www$/)
    const home = page.url()
    await signOut(page)
    await device.forget()
    await toPasskeyPage(page)
    await page.getByText('Sign in with a recovery code').click()
    await page.getByLabel('Recovery code', { exact: true }).fill('1234')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('That isn’t an unused recovery code.').waitFor()
    await assertRefusalReadable(page, 403)
    await page.getByLabel('Recovery code', { exact: true }).fill(codes[4]?.toUpperCase() ?? '')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL(home)
    const actor = await service.app.actors.findByCreator('Charles Babbage')
    await page.goto(`${home}/passkeys`)
    await page.getByLabel('Name').last().fill('New phone')
    await page.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByText('Passkey added.').waitFor()
    await signOut(page)
    await service.app.actors.delete(actor?.id ?? '')
    await toPasskeyPage(page)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByText('That passkey opens nothing here.').waitFor()
    await assertRefusalReadable(page, 403)
  })

  it('is added, named and removed on the page of the owner', async () => {
    const device = await openDevice({ viewport: phone, bypassCSP: true })
    const { page } = device
    await signUp(page, 'Alan Turing')
    await page.getByRole('link', { name: 'I saved them. Continue' }).click()
    await page.waitForURL(/\/www$/)
    await page.goto(`${page.url()}/settings`)
    await page.getByRole('link', { name: 'Passkeys and recovery codes' }).click()
    await assertReadable(page)
    await page.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByText('This device already has a passkey for this service.').waitFor()
    await page.getByRole('button', { name: 'Remove Chrome on Linux' }).click()
    await page.getByRole('button', { name: 'Remove passkey' }).click()
    await page.getByText('You can’t remove your only passkey').first().waitFor()
    await assertRefusalReadable(page, 409)
    await device.forget()
    await page.getByLabel('Name').last().fill('Key of the office')
    await page.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByText('Passkey added.').waitFor()
    await page.getByText('Rename Chrome on Linux').click()
    await page.getByLabel('Name').first().fill('Old laptop')
    await page.getByRole('button', { name: 'Save name' }).first().click()
    await page.getByText('Saved.').waitFor()
    await page.getByRole('button', { name: 'Remove Old laptop' }).click()
    await page.getByRole('button', { name: 'Remove passkey' }).first().click()
    await page.getByText('Passkey removed.').waitFor()
    assert.deepEqual(await page.getByRole('listitem').getByRole('strong').allInnerTexts(), ['Key of the office'])
    await page.getByRole('button', { name: 'Create new codes' }).click()
    await page.getByRole('button', { name: 'Create and show codes' }).click()
    const codes = page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem')
    await codes.first().waitFor()
    assert.equal(await codes.count(), 10)
    await assertReadable(page)
  })

  it('opens the deletion of an account again when the sign-in is no longer recent', async () => {
    let ahead = 0
    const aged = await start({
      listen: true,
      host: 'localhost',
      name: 'Notes',
      signIn: [passkey()],
      now: () => Date.now() + ahead,
    })
    const { page } = await openDevice({ viewport: phone, bypassCSP: true })
    await signUp(page, 'Grace Hopper', aged)
    await page.getByRole('link', { name: 'I saved them. Continue' }).click()
    await page.waitForURL(/\/www$/)
    const home = page.url()
    ahead = 301_000
    await page.goto(`${home}/settings`)
    await page.getByText('Sign in again first.').first().waitFor()
    await assertReadable(page)
    await page.getByRole('link', { name: 'Sign in again' }).last().click()
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.waitForURL(`${home}/settings`)
    await page.getByText('Delete account…').click()
    await page.getByLabel('Type Grace Hopper to confirm').fill('Grace Hopper')
    await page.getByRole('button', { name: 'Delete account permanently' }).click()
    await page.getByText('Your account was deleted.').waitFor()
    assert.equal(await aged.app.actors.findByCreator('Grace Hopper'), undefined)
    assert.deepEqual(page.complaints, [])
  })

  it('says that it needs JavaScript when the browser runs no script', async () => {
    const { page } = await openDevice({ javaScriptEnabled: false })
    await toPasskeyPage(page)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByRole('alert').filter({ hasText: 'Passkeys need JavaScript.' }).waitFor()
  })
})
