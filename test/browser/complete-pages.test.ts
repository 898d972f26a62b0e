import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import { openPage } from '../support/browser.ts'

it('a test reads a page when all of it has arrived, also after a click', async (t) => {
  const items = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, index) => `<p id="item-${from + index}">Item ${from + index}</p>`).join('')
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html')
    if (request.url !== '/list') return void response.end('<a href="/list">The list</a>')
    response.write(`<!doctype html><main>${items(0, 34)}`)
    void released.then(() => response.end(items(34, 50)))
  })
  t.after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const page = await openPage()
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  await page.getByRole('link').click()
  // A wait for one element does not need the whole page.
  await page.locator('#item-33').waitFor()
  const readings = [
    page.locator('p').count(),
    page.locator('#item-49').isVisible(),
    page.evaluate('document.querySelectorAll("p").length'),
  ]
  await page.locator('#item-33').waitFor()
  release()
  assert.deepEqual(await Promise.all(readings), [50, true, 50])
})
