import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { visitAsOwner } from '../support/owner-page.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { signIn } from '../support/sessions.ts'
import { until } from '../support/until.ts'

const begin = sqliteService()
let service: TestService

before(async () => {
  service = await begin({ listen: true })
})

interface Windows {
  readonly actor: TestActor
  readonly context: BrowserContext
  readonly pages: readonly Page[]
  /** Paths and queries of the streams that windows began, oldest first. */
  readonly streams: string[]
}

/** Opens windows of one browser, one after the other, and waits until each shows its page. */
async function openWindows(count: number, init = ''): Promise<Windows> {
  const actor = await service.createActor(`ada${Math.random()}@example.com`)
  await actor.request('POST', '/properties', { color: 'green' })
  const first = await visitAsOwner(service, actor, '/settings')
  const context = first.context()
  // The stream of the first page is not one of those that the test counts.
  await first.goto('about:blank')
  await context.addInitScript(init)
  const streams: string[] = []
  context.on('request', (request) => {
    const { pathname, search } = new URL(request.url())
    if (pathname.endsWith('/www/live')) streams.push(`${pathname}${search}`)
  })
  const pages = [first]
  await first.goto(colorOf(actor))
  await shows([first], 'green')
  await until(() => streams.length === 1)
  for (const _ of Array.from({ length: count - 1 })) pages.push(await openWindow(context, colorOf(actor)))
  return { actor, context, pages, streams }
}

const colorOf = (actor: TestActor): string => `${service.url}/${actor.id}/www/properties/color`

async function openWindow(context: BrowserContext, url: string): Promise<Awaited<ReturnType<typeof visitAsOwner>>> {
  const page = (await context.newPage()) as Awaited<ReturnType<typeof visitAsOwner>>
  await page.goto(url)
  return page
}

/** Waits until every window shows a value. No window is loaded for it. */
async function shows(pages: readonly Page[], color: string): Promise<void> {
  await Promise.all(pages.map((page) => page.locator('.value', { hasText: color }).waitFor()))
}

const setHidden = (page: Page, hidden: boolean): Promise<void> =>
  page.evaluate(
    `Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} }); document.dispatchEvent(new Event('visibilitychange'))`,
  )

describe('the stream of the windows of one browser', () => {
  it('is shared by eight windows over HTTP/1.1, which all load and show a change (R-LIVE-07)', async () => {
    const { actor, pages, streams } = await openWindows(8)
    for (const color of ['red', 'blue']) {
      await actor.request('PUT', '/properties/color', color)
      await shows(pages, color)
    }
    assert.deepEqual(streams, [`/${actor.id}/www/live`])
  })

  it('continues in another window after the last change when its window closes (R-LIVE-07)', async () => {
    const { actor, pages, streams } = await openWindows(3)
    const [first, ...others] = pages
    await actor.request('PUT', '/properties/color', 'red')
    await shows(pages, 'red')
    await Promise.all([first?.close(), actor.request('PUT', '/properties/color', 'blue')])
    await shows(others, 'blue')
    await until(() => streams.length === 2)
    assert.match(streams[1] ?? '', /^\/[\w-]+\/www\/live\?after=[12]$/)
    await actor.request('PUT', '/properties/color', 'violet')
    await shows(others, 'violet')
  })

  it('continues in another window when its window is hidden, which then does nothing (R-LIVE-06, R-LIVE-07)', async () => {
    const { actor, pages, streams } = await openWindows(2)
    const [first, second] = pages
    assert.ok(first && second)
    await setHidden(first, true)
    await until(() => streams.length === 2)
    const asked: string[] = []
    first.on('request', (request) => asked.push(request.url()))
    await actor.request('PUT', '/properties/color', 'red')
    await shows([second], 'red')
    assert.deepEqual(asked, [])
    await setHidden(first, false)
    await shows([first], 'red')
    assert.equal(streams.length, 2)
  })

  it('is one for each account, and ends in all windows of the session (R-LIVE-05, R-LIVE-07)', async () => {
    const { actor, context, pages, streams } = await openWindows(2)
    const other = await service.createActor(`grace${Math.random()}@example.com`)
    await other.request('POST', '/properties', { color: 'white' })
    const token = await signIn(service, other)
    const sessions = (await (await actor.request('GET', '/sessions')).json()) as { id: string }[]
    await context.addCookies([{ name: 'oauth_token', value: token, url: service.url, httpOnly: true, sameSite: 'Lax' }])
    const theirs = await openWindow(context, colorOf(other))
    await until(() => streams.length === 2)
    assert.deepEqual(streams, [`/${actor.id}/www/live`, `/${other.id}/www/live`])
    await other.request('PUT', '/properties/color', 'black')
    await shows([theirs], 'black')
    for (const page of pages) assert.equal(await page.locator('.value').innerText(), 'green')
    for (const { id } of sessions) await actor.request('DELETE', `/sessions/${id}`)
    await actor.request('PUT', '/properties/color', 'red')
    for (const page of pages) {
      await page.locator('.stale').waitFor()
      assert.equal(await page.locator('.value').innerText(), 'green')
    }
  })

  it('is one for each sign-in of an account (R-LIVE-07)', async () => {
    const { actor, context, pages, streams } = await openWindows(2)
    const token = await signIn(service, actor)
    await context.addCookies([{ name: 'oauth_token', value: token, url: service.url, httpOnly: true, sameSite: 'Lax' }])
    const later = await openWindow(context, colorOf(actor))
    await until(() => streams.length === 2)
    await actor.request('PUT', '/properties/color', 'red')
    await shows([...pages, later], 'red')
  })

  for (const missing of ['Navigator.prototype.locks', 'window.BroadcastChannel'])
    it(`belongs to each window without ${missing} (R-LIVE-07)`, async () => {
      const { actor, pages, streams } = await openWindows(2, `delete ${missing}`)
      await until(() => streams.length === 2)
      await actor.request('PUT', '/properties/color', 'red')
      await shows(pages, 'red')
    })
})
