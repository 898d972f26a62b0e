/* cspell:ignore Den Betrieb übernehmen Weiter zur Anmeldung */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { passkey } from '../../src/index.ts'
import { desktop, faultsInEveryLook } from '../support/browser.ts'
import { openDevice } from '../support/passkeys.ts'
import { sqliteService, type TestService } from '../support/service.ts'

const start = sqliteService()
let service: TestService

before(async () => {
  service = await start({ listen: true, host: 'localhost', name: 'Notes', signIn: [passkey()] })
})

async function link(): Promise<string> {
  const code = await (await service.app.running()).parts.firstOperator.renew()
  return `${service.url}/admin/first?code=${code ?? assert.fail('no link')}`
}

describe('the link of the first operator, in a real browser', () => {
  it('is in German for a German browser', async () => {
    const { page } = await openDevice({ viewport: desktop, locale: 'de-DE' })
    await page.goto(await link())
    await page.getByRole('heading', { name: 'Den Betrieb übernehmen' }).waitFor()
    await page.getByRole('button', { name: 'Weiter zur Anmeldung' }).waitFor()
    assert.deepEqual(page.complaints, [])
  })

  it('leads a person without an account to a passkey, and with it to the pages of operators', async () => {
    const { page } = await openDevice({ viewport: desktop, bypassCSP: true })
    await page.goto(await link())
    assert.deepEqual(await faultsInEveryLook(page), [])
    await page.getByRole('button', { name: 'Continue to the sign-in' }).click()
    await page.getByLabel('Your name').fill('Ada')
    await page.getByRole('button', { name: 'Create account with a passkey' }).click()
    await page.getByRole('link', { name: 'I saved them. Continue' }).click()
    await page.getByText(/You are signed in as passkey:/).waitFor()
    assert.deepEqual(await faultsInEveryLook(page), [])
    await page.getByRole('button', { name: 'Become the operator' }).click()
    await page.getByRole('status').filter({ hasText: 'You are now an operator of this service.' }).waitFor()
    await page.getByRole('link', { name: 'Operators' }).click()
    await page.getByText('The last operator cannot be removed.').waitFor()
    await page.getByLabel('Verified address, provider ID, or fingerprint of a passkey').fill('no name')
    await page.getByRole('button', { name: 'Add an operator' }).click()
    await page.getByText(/expected a verified address/).waitFor()
    await page.getByLabel('Verified address, provider ID, or fingerprint of a passkey').fill('bob@example.com')
    await page.getByRole('button', { name: 'Add an operator' }).click()
    await page.getByRole('heading', { name: 'bob@example.com' }).waitFor()
    assert.deepEqual(await faultsInEveryLook(page), [])
    await page
      .locator('section', { hasText: 'bob@example.com' })
      .getByRole('button', { name: 'Remove' })
      .first()
      .click()
    await page.locator('[popover]:popover-open').getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('status').filter({ hasText: 'Operator removed.' }).waitFor()
  })
})
