/* cspell:ignore Zustand Konten Zustellung Verbundene Suchen Anfang Adresse Person oder eine Kennung Konto öffnen Seiten für den Betrieb Fehlgeschlagenes wiederholen Jetzt */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import { desktop, faultsInEveryLook, openPage, type WatchedPage, unfold } from '../support/browser.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'

const start = sqliteService()
const provider = sharedProvider()
let service: TestService
let token: string
let actor: TestActor

before(async () => {
  service = await start({ listen: true, name: 'Notes', admins: ['ada@example.com'], ...signInAt(await provider()) })
  const browser = new TestBrowser(service)
  await signIn(browser, await provider(), 'ada')
  token = browser.cookies.get('oauth_token') ?? assert.fail()
  for (let n = 0; n < 26; n++) actor = await service.createActor(`person-${n}@example.com`)
  await actor.request('PUT', '/properties/color', 'blue')
  await authorizeClient(service, actor)
})

async function visit(path: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const page = await openPage({ viewport: desktop, ...options })
  await page
    .context()
    .addCookies([{ name: 'oauth_token', value: token, url: service.url, httpOnly: true, sameSite: 'Lax' }])
  await page.goto(`${service.url}${path}`)
  return page
}

describe('the pages of operators, in a real browser', () => {
  for (const javaScriptEnabled of [true, false]) {
    it(`lead from the numbers to an account, and retry what failed, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
      const page = await visit('/admin', { javaScriptEnabled })
      await page.getByRole('heading', { name: 'Status' }).waitFor()
      await page.getByRole('link', { name: 'Accounts' }).click()
      await page.getByRole('link', { name: 'Older' }).click()
      await page.getByRole('link', { name: 'person-0@example.com' }).waitFor()
      await page.getByLabel('Beginning of the owner’s address, or an ID').fill('person-25')
      await page.getByRole('button', { name: 'Search' }).click()
      await page.getByRole('link', { name: 'person-25@example.com' }).click()
      await page.getByText('This address was never proved.').waitFor()
      await page.getByRole('button', { name: 'Retry what failed' }).click()
      await page.getByRole('button', { name: 'Retry now' }).click()
      await page.getByRole('status').filter({ hasText: 'Retrying the failed updates.' }).waitFor()
      await page.getByRole('link', { name: 'Deliveries' }).click()
      await page.getByText('Every subscriber gets its updates.').waitFor()
      await page.getByRole('link', { name: 'Connected apps' }).click()
      await page.getByRole('columnheader', { name: 'Connections' }).waitFor()
      assert.deepEqual(page.complaints, [])
    })
  }

  it('open from the settings of the operator, in German', async () => {
    const page = await visit('/admin', { locale: 'de-DE' })
    await page.getByRole('heading', { name: 'Zustand' }).waitFor()
    await page.getByRole('link', { name: 'Konto öffnen' }).click()
    await page.goto(`${page.url().replace(/\/$/, '')}/settings`)
    await page.getByRole('link', { name: 'Seiten für den Betrieb öffnen' }).click()
    await page.getByRole('link', { name: 'Konten' }).click()
    await page.getByLabel('Anfang der Adresse der Person, oder eine Kennung').fill(actor.id)
    await page.getByRole('button', { name: 'Suchen' }).click()
    await page.getByRole('link', { name: 'person-25@example.com' }).click()
    await page.getByRole('button', { name: 'Fehlgeschlagenes wiederholen' }).click()
    await page.getByRole('button', { name: 'Jetzt wiederholen' }).click()
    await page.getByRole('status').waitFor()
    assert.deepEqual(page.complaints, [])
  })

  it('have no accessibility violation in any look (R-LOOK-01)', async () => {
    const page = await visit('/admin', { bypassCSP: true })
    for (const path of ['/admin', '/admin/actors', `/admin/actors/${actor.id}`, '/admin/deliveries', '/admin/apps']) {
      await page.goto(`${service.url}${path}`)
      await page.evaluate(unfold)
      assert.deepEqual(await faultsInEveryLook(page), [], path)
    }
  })
})
