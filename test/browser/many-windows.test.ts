/** Many open windows of one browser, which has six connections to a host. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { visitAsOwner } from '../support/owner-page.ts'
import { sqliteService } from '../support/service.ts'

const start = sqliteService()

describe('seven windows of the pages of an actor', () => {
  it('follow changes by one stream, and by another one when its window closes (HTTP-41)', async () => {
    const service = await start({ listen: true })
    const actor = await service.createActor('ada@example.com')
    assert.equal((await actor.request('PUT', '/properties/color', '"blue"')).status, 204)
    const first = await visitAsOwner(service, actor, '/properties/color')
    const streams: string[] = []
    first.context().on('request', (request) => {
      if (request.url().endsWith('/www/live')) streams.push(request.url())
    })
    await first.reload()
    const windows: Page[] = [first]
    while (windows.length < 7) {
      const page = await first.context().newPage()
      await page.goto(`${service.url}/${actor.id}/www/properties/color`)
      windows.push(page)
    }
    await change('green', windows)
    assert.equal(streams.length, 1)
    await first.close()
    await change('red', windows.slice(1))
    assert.equal(streams.length, 2)
    const hidden = windows.slice(2)
    for (const page of hidden) await page.evaluate("dispatchEvent(new Event('pagehide'))")
    await change('white', windows.slice(1, 2))
    assert.equal(streams.length <= 3, true)

    async function change(color: string, open: readonly Page[]): Promise<void> {
      assert.equal((await actor.request('PUT', '/properties/color', `"${color}"`)).status, 204)
      for (const page of open) await page.locator('.value', { hasText: color }).waitFor()
    }
  })

  it('have a stream each where the browser has no locks, as on plain http (HTTP-41)', async () => {
    const service = await start({ listen: true })
    const actor = await service.createActor('ada@example.com')
    assert.equal((await actor.request('PUT', '/properties/color', '"blue"')).status, 204)
    const page = await visitAsOwner(service, actor, '/properties/color')
    await page.addInitScript("Object.defineProperty(Navigator.prototype, 'locks', { value: undefined })")
    await page.reload()
    const live = page.waitForRequest((request) => request.url().endsWith('/www/live'))
    await page.reload()
    await live
    assert.equal((await actor.request('PUT', '/properties/color', '"green"')).status, 204)
    await page.locator('.value', { hasText: 'green' }).waitFor()
  })
})
