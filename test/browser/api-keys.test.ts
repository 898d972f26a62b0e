/* cspell:ignore Schlüssel Bezeichnung erstellen erstellt widerrufen Eigenschaften Ansehen */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import { faultsInEveryLook, type WatchedPage, unfold } from '../support/browser.ts'
import { visitAsOwner } from '../support/owner-page.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

const start = sqliteService()
let service: TestService

before(async () => {
  service = await start({ listen: true, name: 'Notes' })
})

async function visit(options: BrowserContextOptions): Promise<{ page: WatchedPage; owner: TestActor }> {
  const owner = await service.createActor('ada@example.com')
  assert.equal((await owner.request('PUT', '/properties/room', '"kitchen"')).status, 204)
  return { page: await visitAsOwner(service, owner, '/apps', options), owner }
}

const shownKey = (page: WatchedPage): Promise<string> => page.locator('#key-text').innerText()

async function statusWith(key: string, owner: TestActor): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  return (await fetch(`${service.url}/${owner.id}/properties/room`, { headers })).status
}

describe('API keys on the page of connected apps, in a real browser', () => {
  for (const javaScriptEnabled of [true, false]) {
    it(`are created, used and revoked ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
      const { page, owner } = await visit({ javaScriptEnabled })
      await page.getByText('Create an API key').click()
      await page.getByLabel('Name', { exact: true }).fill('Sensor in the kitchen')
      await page.getByLabel('Last day').fill('2020-01-01')
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('link', { name: 'Enter today or a later day.' }).waitFor()
      assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Sensor in the kitchen')
      await page.getByLabel('Last day').fill('')
      page.complaints.length = 0
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('heading', { name: 'API key created' }).waitFor()
      const key = await shownKey(page)
      assert.match(key, /^trp_[0-9A-Za-z]{38}$/)
      assert.equal(await statusWith(key, owner), 200)
      await page.goto(`${service.url}/${owner.id}/www/apps`)
      assert.equal(await page.getByText(key).count(), 0)
      await page.getByRole('button', { name: 'Revoke Sensor in the kitchen' }).click()
      await page.getByRole('status').filter({ hasText: 'Key revoked.' }).waitFor()
      assert.equal(await statusWith(key, owner), 401)
      assert.deepEqual(page.complaints, [])
    })
  }

  for (const javaScriptEnabled of [true, false]) {
    it(`are paused and resumed ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
      const { page, owner } = await visit({ javaScriptEnabled })
      const made = await owner.request('POST', '/keys', {
        name: 'Sensor',
        grants: { properties: { patterns: ['*'], operations: ['read'] } },
      })
      const { key } = (await made.json()) as { key: string }
      await page.reload()
      await page.getByRole('button', { name: /^Pause ?: Sensor$/ }).click()
      await page.getByRole('status').filter({ hasText: 'Access paused.' }).waitFor()
      assert.equal(await statusWith(key, owner), 403)
      await page.getByText('Paused. It has no access.').waitFor()
      await page.getByRole('button', { name: /^Resume ?: Sensor$/ }).click()
      await page.getByRole('status').filter({ hasText: 'Access resumed.' }).waitFor()
      assert.equal(await statusWith(key, owner), 200)
      assert.deepEqual(page.complaints, [])
    })
  }

  it('show how to connect an AI client, with the address of this service', async () => {
    const { page } = await visit({})
    await page.getByRole('heading', { name: 'Claude Code' }).waitFor()
    assert.equal(
      await page.locator('#setup-claudeCode').innerText(),
      `claude mcp add --transport http notes ${service.url}/mcp`,
    )
  })

  it('are created in German', async () => {
    const { page, owner } = await visit({ locale: 'de-DE' })
    await page.getByText('API-Schlüssel erstellen').click()
    await page.getByLabel('Bezeichnung').fill('Sensor')
    await page.getByLabel('Eigenschaften', { exact: true }).selectOption('Ansehen')
    await page.getByRole('button', { name: 'Schlüssel erstellen' }).click()
    await page.getByRole('heading', { name: 'API-Schlüssel erstellt' }).waitFor()
    assert.equal(await statusWith(await shownKey(page), owner), 200)
    await page.getByRole('button', { name: 'Sensor widerrufen' }).waitFor()
  })

  it('have no accessibility violation in any look (R-LOOK-01)', async () => {
    const { page } = await visit({ bypassCSP: true })
    await page.getByText('Create an API key').click()
    assert.deepEqual(await faultsInEveryLook(page), [])
    await page.getByLabel('Name', { exact: true }).fill('Sensor')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('heading', { name: 'API key created' }).waitFor()
    await page.evaluate(unfold)
    assert.deepEqual(await faultsInEveryLook(page), [])
  })
})
