import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { accessibilityViolations, desktop, isTooWide, openPage, phone, type WatchedPage } from '../support/browser.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

const start = sqliteService()
let service: TestService
let actor: TestActor
let evil: Server
let evilUrl: string

before(async () => {
  service = await start({ listen: true, host: 'localhost', name: 'Notes' })
  actor = await service.createActor('ada@example.com')
  assert.equal((await actor.request('PUT', '/properties/color', 'green')).status, 204)
  const target = `${service.url}/${actor.id}`
  // A different site than the service, which runs at localhost.
  evil = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(`<title>evil</title>
<form id="page" method="post" action="${target}/www/properties/color"><input name="value" value="red"></form>
<form id="delete" method="post" action="${target}/www/settings"><input name="action" value="delete"><input name="confirmation" value="ada@example.com"></form>
<form id="api" method="post" enctype="text/plain" action="${target}/properties/color"><input name="x" value="red"></form>
<a id="link" href="${target}/www/properties/color?_method=DELETE">A kitten</a>`)
  })
  await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve))
  evilUrl = `http://127.0.0.1:${(evil.address() as AddressInfo).port}/`
})
after(async () => {
  evil.closeAllConnections()
  await new Promise((resolve) => evil.close(resolve))
})

function open(viewport: { width: number; height: number }): Promise<WatchedPage> {
  const httpCredentials = { username: actor.creator, password: actor.passphrase }
  return openPage({ viewport, bypassCSP: true, httpCredentials })
}

const color = async (): Promise<string> => (await actor.request('GET', '/properties/color')).text()

describe('the pages of a service without a sign-in provider, in a real browser', () => {
  for (const [name, viewport] of [
    ['desktop', desktop],
    ['phone', phone],
  ] as const) {
    it(`open with the passphrase, and accept forms, on a ${name}`, async () => {
      const page = await open(viewport)
      await page.goto(`${service.url}/${actor.id}`)
      await page.getByRole('link', { name: 'Sign in with your passphrase' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      assert.equal(await page.getByRole('button', { name: 'Sign out' }).count(), 0)
      await page.goto(`${service.url}/${actor.id}/www/properties/color`)
      await page.locator('details:has(textarea[name=value]) > summary').first().click()
      await page.locator('textarea[name=value]').first().fill(`color of a ${name}`)
      await page.getByRole('button', { name: 'Save' }).first().click()
      await page.getByRole('status').filter({ hasText: 'Saved.' }).waitFor()
      assert.equal(await color(), `color of a ${name}`)
      page.complaints.length = 0
      await page.reload()
      assert.deepEqual(await accessibilityViolations(page), [])
      assert.equal(await isTooWide(page), false)
    })
  }

  it('reject requests of another site with the remembered passphrase (WEB-16, WEB-05)', async () => {
    const before = await color()
    const page = await open(desktop)
    await page.goto(`${service.url}/${actor.id}/www`)
    for (const form of ['page', 'delete', 'api']) {
      await page.goto(evilUrl)
      const posted = page.waitForResponse(
        (response) => response.url().startsWith(service.url) && response.request().method() === 'POST',
      )
      await page.evaluate(`document.getElementById('${form}').submit()`)
      const answer = await posted
      await page.waitForURL(`${service.url}/**`)
      assert.equal((await answer.request().allHeaders())['authorization'], actor.authorization)
      assert.equal(answer.status(), 403)
    }
    await page.goto(evilUrl)
    await page.getByRole('link', { name: 'A kitten' }).click()
    await page.waitForURL(/_method=DELETE$/)
    assert.equal(await color(), before)
  })
})
