import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { emailLink } from '../../src/index.ts'
import { accessibilityViolations, isTooWide, openPage, phone, type WatchedPage } from '../support/browser.ts'
import { sqliteService, type TestService } from '../support/service.ts'

const start = sqliteService()
let service: TestService
const mails: { readonly email: string; readonly url: string; readonly code: string }[] = []

before(async () => {
  service = await start({
    listen: true,
    host: 'localhost',
    name: 'Notes',
    signIn: [emailLink()],
    declare: (app) => app.on('sign_in_link_requested', (mail) => void mails.push(mail)),
  })
})

async function assertReadable(page: WatchedPage): Promise<void> {
  assert.deepEqual(await accessibilityViolations(page), [])
  assert.equal(await isTooWide(page), false)
}

async function ask(page: WatchedPage, email: string): Promise<void> {
  await page.goto(`${service.url}/login`)
  await page.getByRole('link', { name: 'Continue with Email' }).click()
  await assertReadable(page)
  await page.getByLabel('Email').fill(email)
  await page.getByRole('button', { name: 'Send me a code' }).click()
  await page.getByRole('heading', { name: 'Check your email' }).waitFor()
  await assertReadable(page)
}

describe('a sign-in by email in a real browser', () => {
  it('takes the code, after a wrong one', async () => {
    const page = await openPage({ viewport: phone, bypassCSP: true })
    await ask(page, 'ada@example.com')
    await page.getByLabel('Code').fill('0000-0000')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('That code isn’t valid for this sign-in').waitFor()
    await assertReadable(page)
    await page.getByLabel('Code').fill(mails.at(-1)?.code ?? '')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL(/\/www$/)
    const actor = await service.app.actors.findByCreator('ada@example.com', { proven: true })
    assert.equal(page.url(), `${service.url}/${actor?.id}/www`)
  })

  it('takes the link of the email, with one more click', async () => {
    const page = await openPage({ viewport: phone, bypassCSP: true })
    await ask(page, 'ben@example.com')
    await page.getByRole('button', { name: 'Send another code' }).click()
    await page.getByRole('heading', { name: 'Check your email' }).waitFor()
    await page.goto(mails.at(-1)?.url ?? '')
    await page.getByRole('heading', { name: 'Finish signing in' }).waitFor()
    await assertReadable(page)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL(/\/www$/)
    assert.deepEqual(page.complaints, [])
  })
})
