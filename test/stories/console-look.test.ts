/** The logo and the accent color of an application on its pages. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sqliteService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const logo = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>'
const start = sqliteService()

describe('the option console', () => {
  it('sets the logo, the icon and the accent color of every page', async () => {
    const service = await start({ console: { accent: '#0a6b52', logo }, baseUrl: 'http://troupe.test/under' })
    const browser = await OwnersBrowser.open(service, await service.createActor())
    const pages = [
      await (await browser.get('')).text(),
      await (await service.request('/')).text(),
      await (await service.request('/login')).text(),
    ]
    for (const page of pages) {
      const image = /<img src="\/under(\/assets\/troupe-logo\.[\w-]{12}\.svg)"/.exec(page)?.[1] ?? ''
      const icon = /<link rel="icon" href="\/under(\/assets\/troupe-logo\.[\w-]{12}\.svg)"/.exec(page)?.[1]
      const sheet =
        /<link rel="stylesheet" href="\/under(\/assets\/troupe-accent\.[\w-]{12}\.css)">/.exec(page)?.[1] ?? ''
      if (page.includes('<img')) assert.equal(image, icon)
      const [image1, style] = [await service.request(icon ?? ''), await service.request(sheet)]
      assert.equal(await image1.text(), logo)
      assert.equal(image1.headers.get('content-type'), 'image/svg+xml')
      assert.equal(image1.headers.get('cache-control'), 'public, max-age=31536000, immutable')
      assert.match(await style.text(), /^:root\{--accent:light-dark\(#0a6b52,#[0-9a-f]{6}\)/)
      assert.equal(style.headers.get('content-type'), 'text/css; charset=utf-8')
    }
  })

  it('leaves the look of the service without it', async () => {
    const service = await start()
    const page = await (await service.request('/')).text()
    assert.match(page, /\/assets\/troupe\.[\w-]{12}\.svg/)
    assert.ok(!page.includes('troupe-accent'))
    assert.equal((await service.request('/assets/troupe-accent.css')).status, 404)
    assert.equal((await service.request('/assets/troupe-logo.svg')).status, 404)
  })

  it('prevents the start with a color that cannot be read', async () => {
    await assert.rejects(start({ console: { accent: '#ffee00' } }), /has a contrast of only/)
  })
})
