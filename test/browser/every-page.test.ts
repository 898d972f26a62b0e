/** Every page of an actor and of the service, in the looks that the other browser tests do not have. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { english } from '../../src/pages/languages/english.ts'
import { accessibilityViolations, colorRules, isTooWide, type WatchedPage, unfold } from '../support/browser.ts'
import { visitAsOwner } from '../support/owner-page.ts'
import { declareAll, furnish, requestOf, routes, sampleOf, samplePeer } from '../support/routes.ts'
import { signIn } from '../support/sessions.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

const start = sqliteService()
let service: TestService
let actor: TestActor
/** The paths of all pages. */
let pages: string[]

const narrow = { width: 320, height: 700 }
const long = 'WWWWWWWW MMMMMMMMMMMM 李小龍李小龍李小龍 ﷽﷽﷽ 👩‍👩‍👧‍👦👩‍👩‍👧‍👦'

before(async () => {
  // The service has no language that is written from right to left, so English stands in for one.
  const console = { languages: { ar: english.messages(english.noun) } }
  service = await start({
    listen: true,
    name: 'Notes',
    declare: declareAll,
    activityPerActor: 1000,
    localSignIn: true,
    console,
  })
  actor = await service.createActor('ada@example.com')
  await furnish(actor)
  await actor.request('POST', '/properties', { [long]: { [long]: [1, 2, { deep: long }] }, text: long.repeat(20) })
  for (let index = 0; index < 60; index++) await actor.request('POST', '/properties/notes', { index, text: long })
  await actor.request('PUT', '/properties/color', '"red"')
  const cookie = `oauth_token=${await signIn(service, actor)}`
  pages = []
  for (const route of routes) {
    if (route.method !== 'GET' || sampleOf(route).status !== 200) continue
    const [path, request] = requestOf(route, actor.id, { accept: 'text/html', cookie })
    const answer = await service.request(path, request)
    await answer.body?.cancel()
    if (answer.headers.get('content-type')?.startsWith('text/html')) pages.push(path)
  }
  pages.push(`/${actor.id}/www/nowhere`, `/${actor.id}/www/properties/color`)
})

/** Shows every page in turn, with all folds open, and returns what `check` finds. */
async function onEveryPage(page: WatchedPage, check: (path: string) => Promise<readonly string[]>): Promise<string[]> {
  const faults: string[] = []
  for (const path of pages) {
    await page.goto(service.url + path)
    await page.evaluate(unfold)
    faults.push(...(await check(path)).map((fault) => `${path}: ${fault}`))
  }
  return faults
}

const violations = async (page: WatchedPage, rules?: readonly string[]): Promise<string[]> =>
  (await accessibilityViolations(page, rules)).map(
    ({ id, help, targets }) => `${id} (${help}) at ${targets.join(', ')}`,
  )

const withoutBorder = `[...document.querySelectorAll('button, .button, input:not([type=hidden]), select, textarea')]
  .filter((one) => one.checkVisibility() && !['radio', 'checkbox', 'range', 'file', 'color'].includes(one.type))
  .filter((one) => {
    const { borderStyle, borderWidth } = getComputedStyle(one)
    return borderStyle === 'none' || parseFloat(borderWidth) === 0
  })
  .map((one) => 'no border: ' + one.outerHTML.slice(0, 120))`

describe('every page', () => {
  it('fits a screen of 320 pixels, also from right to left, without a violation (R-LOOK-01, R-LOOK-02)', async () => {
    const page = await visitAsOwner(service, actor, '', { locale: 'ar', bypassCSP: true, viewport: narrow })
    const faults = await onEveryPage(page, async () => [
      ...((await page.evaluate('document.documentElement.dir')) === 'rtl' ? [] : ['is written from left to right']),
      ...((await isTooWide(page)) ? ['is wider than the screen'] : []),
      ...(await violations(page)),
    ])
    assert.deepEqual(faults, [])
    assert.equal(pages.length, 27, pages.join(' '))
  })

  it('fits a screen of 320 pixels from left to right, in dark colors (R-LOOK-02)', async () => {
    const page = await visitAsOwner(service, actor, '', { bypassCSP: true, viewport: narrow, colorScheme: 'dark' })
    const faults = await onEveryPage(page, async () => [
      ...((await isTooWide(page)) ? ['is wider than the screen'] : []),
      ...(await violations(page, colorRules)),
    ])
    assert.deepEqual(faults, [])
  })

  it('shows its buttons, fields and state in forced colors (R-LOOK-02)', async () => {
    const page = await visitAsOwner(service, actor, '', { bypassCSP: true, forcedColors: 'active' })
    assert.equal(await page.evaluate('matchMedia("(forced-colors: active)").matches'), true)
    const faults = await onEveryPage(page, async () => [
      ...(await violations(page, colorRules)),
      ...(await page.evaluate<string[]>(withoutBorder)),
    ])
    assert.deepEqual(faults, [])
  })
})

describe('a live update', () => {
  const observe = `
    window.shifts = []
    new PerformanceObserver((list) => {
      for (const { value, sources } of list.getEntries())
        window.shifts.push(value + ' ' + sources.map(({ node }) => node?.outerHTML?.slice(0, 80)).join())
    }).observe({ type: 'layout-shift' })`
  const changes: Readonly<Record<string, readonly [path: string, change: () => Promise<Response>, seen: string]>> = {
    'a changed value in the table': [
      '/properties',
      () => actor.request('PUT', '/properties/color', '"violet"'),
      'violet',
    ],
    'a new property in the table': ['/properties', () => actor.request('PUT', '/properties/aaa', '"first"'), 'first'],
    'a changed value on its page': [
      '/properties/color',
      () => actor.request('PUT', '/properties/color', '"orange"'),
      'orange',
    ],
    'a new connection on the overview': ['', () => approve(), 'Connected'],
  }
  const approve = (): Promise<Response> => actor.request('PUT', `/trust/friend/${samplePeer}`, { approved: true })

  for (const [what, [path, change, seen]] of Object.entries(changes))
    it(`moves nothing that stays: ${what} (R-LIVE-04)`, async () => {
      const page = await visitAsOwner(service, actor, path)
      const stream = page.waitForRequest((request) => request.url().endsWith('/live'))
      await page.reload()
      await stream
      await page.evaluate(observe)
      await change()
      await page.getByText(seen).first().waitFor()
      // The browser reports a shift with the frame that paints it.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      assert.deepEqual(await page.evaluate('window.shifts'), [])
    })
})
