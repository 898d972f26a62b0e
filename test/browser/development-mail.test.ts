import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { emailLink } from '../../src/index.ts'
import { requestCode } from '../support/email-code.ts'
import { accessibilityViolations, isTooWide, openPage, phone } from '../support/browser.ts'
import { sqliteService, type TestService } from '../support/service.ts'

const start = sqliteService()
let service: TestService

before(async () => {
  service = await start({ listen: true, host: 'localhost', name: 'Notes', signIn: [emailLink()], devMail: true })
  await requestCode(service)
  await service.settled()
})

describe('/dev/mail in a real browser', () => {
  for (const colorScheme of ['light', 'dark'] as const)
    it(`fits a phone and shows the message in its frame, whose link opens the service (${colorScheme})`, async () => {
      const page = await openPage({ viewport: phone, colorScheme, bypassCSP: true })
      await page.goto(`${service.url}/dev/mail`)
      assert.deepEqual([await accessibilityViolations(page), await isTooWide(page)], [[], false])
      await page.getByRole('link', { name: 'Sign in to Notes' }).first().click()
      await page.getByRole('heading', { name: 'Sign in to Notes' }).first().waitFor()
      assert.deepEqual([await accessibilityViolations(page), await isTooWide(page)], [[], false])
    })

  it('shows the HTML under the policy of the page, and opens its link in another window', async () => {
    const page = await openPage()
    await page.goto(`${service.url}/dev/mail`)
    await page.getByRole('link', { name: 'Sign in to Notes' }).first().click()
    const link = page.frameLocator('iframe').getByRole('link', { name: 'Sign in', exact: true })
    const [opened] = await Promise.all([page.context().waitForEvent('page'), link.click()])
    await opened.waitForLoadState()
    assert.ok(opened.url().startsWith(`${service.url}/oauth/`))
  })
})
