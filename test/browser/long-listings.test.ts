import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { type WatchedPage } from '../support/browser.ts'
import { visitAsOwner } from '../support/owner-page.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

const start = sqliteService()
let service: TestService

before(async () => {
  service = await start({ listen: true, name: 'Notes' })
})

function visit(actor: TestActor, path: string): Promise<WatchedPage> {
  return visitAsOwner(service, actor, path, { viewport: { width: 375, height: 667 } })
}

const focused = (page: WatchedPage): Promise<string> =>
  page.evaluate<string>('document.activeElement.textContent.trim()')

describe('a page with more rows than a screen holds', () => {
  it('has the form for a new property above them, and counts properties that are added meanwhile (R-LOOK-03, R-LIVE-03)', async () => {
    const actor = await service.createActor('ada@example.com')
    const names = Array.from({ length: 11 }, (_, index) => [`p${index}`, index])
    await actor.request('POST', '/properties', Object.fromEntries(names))
    const page = await visit(actor, '/properties')
    await page.getByRole('link', { name: 'All 11' }).waitFor()
    await actor.request('PUT', '/properties/another', 1)
    await page.getByRole('link', { name: 'All 12' }).waitFor()
    await page.getByRole('link', { name: 'Export JSON' }).focus()
    await page.keyboard.press('Tab')
    assert.equal(await focused(page), 'Value')
    assert.deepEqual(page.complaints, [])
  })

  it('links past the items to the form for a new one, and counts items that are added meanwhile (R-LOOK-03, R-LIVE-03)', async () => {
    const actor = await service.createActor('grace@example.com')
    await actor.request('POST', '/properties', { notes: { _type: 'list' } })
    await actor.request('POST', '/properties', {
      notes: { items: Array.from({ length: 11 }, (_, index) => ({ index, text: 'Note' })) },
    })
    const page = await visit(actor, '/properties/notes')
    await page.getByText('List · 11 items').waitFor()
    await actor.request('POST', '/properties/notes', 'Milk')
    await page.getByText('List · 12 items').waitFor()
    await page.getByRole('link', { name: /^(New property|Add item)$/ }).click()
    await page.keyboard.press('Tab')
    assert.equal(await focused(page), 'Add item')
    assert.deepEqual(page.complaints, [])
  })

  it('is the only page with that link, which a short page does not need (R-LOOK-03)', async () => {
    const actor = await service.createActor('alan@example.com')
    await actor.request('POST', '/properties', { color: 'blue', notes: { _type: 'list' } })
    for (const path of ['/properties', '/properties/notes', '/properties/color']) {
      const page = await visit(actor, path)
      assert.equal(await page.getByRole('link', { name: /^(New property|Add item)$/ }).count(), 0, path)
    }
  })
})
