/* cspell:ignore Übersicht محمد أحمد */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { App } from '../../src/index.ts'
import { english } from '../../src/pages/languages/english.ts'
import { desktop, faultsInEveryLook, phone, type WatchedPage, unfold } from '../support/browser.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { visitAsOwner } from '../support/owner-page.ts'
import { relateTo } from '../support/recording-peer.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

const start = sqliteService()
let service: TestService
let actor: TestActor

const declare = (app: App): void => {
  app.trustType({ name: 'guest', display_name: 'Guest', description: 'Reads nothing by itself', permissions: {} })
  app.action('add_note', { mcp: true }, () => ({}))
  app.action('clear_notes', { mcp: { title: 'Remove every note', confirm: 'owner' } }, () => ({}))
}

const long = 'WWWWWWWW MMMMMMMMMMMM 李小龍李小龍李小龍 ﷽﷽﷽ 👩‍👩‍👧‍👦👩‍👩‍👧‍👦'

before(async () => {
  // The service has no language that is written from right to left, so English stands in for one.
  const console = { languages: { ar: english.messages(english.noun) } }
  service = await start({ listen: true, name: 'Notes', declare, activityPerActor: 1000, console })
  actor = await service.createActor('ada@example.com')
  const values = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`value${index}`, index]))
  const answer = await actor.request('POST', '/properties', { ...values, [long]: 'x', notes: { _type: 'list' } })
  assert.equal(answer.status, 201)
  for (const [index, name] of [
    'Grace',
    long,
    'محمد بن أحمد بن محمد بن أحمد بن محمد',
    'Mary',
    'Alan',
    'Charles',
    'William',
  ].entries()) {
    const relationship = ['friend', 'partner', 'viewer', 'guest', 'associate'][index % 5] ?? ''
    const baseuri = `https://library-with-a-long-name-${index}.example.com/${index}`
    const peer = await relateTo(service, actor, { relationship, baseuri, facts: { peer_identifier: name } })
    await peer.request('GET', '/properties/notes')
    if (relationship === 'guest')
      await actor.request('PUT', `/trust/guest/${peer.peerId}/permissions`, {
        properties: { patterns: ['notes', 'value1'], operations: ['read'] },
        actions: { allowed: ['clear_notes'] },
      })
  }
  // The map begins with the newest contact, and contacts are stored behind the response.
  await service.settled()
  await authorizeClient(service, actor)
  await writtenAuditLog(service)
})

const visit = (path = '', options: Parameters<typeof visitAsOwner>[3] = {}): Promise<WatchedPage> =>
  visitAsOwner(service, actor, path, options)

const opacities = (page: WatchedPage): Promise<unknown> =>
  page.evaluate(
    `Object.fromEntries(Map.groupBy(document.querySelectorAll('.map path'), (path) => [...path.classList].find((name) => /^p/.test(name))).entries().map(([name, paths]) => [name, [...new Set(paths.map((path) => getComputedStyle(path).opacity))].join()]))`,
  )

describe('the overview in a browser', () => {
  for (const locale of ['en', 'de', 'ar'] as const) {
    it(`has no accessibility violation in any look in ${locale} (R-LOOK-01)`, async () => {
      const page = await visit('', { locale, bypassCSP: true })
      assert.equal(await page.title(), locale === 'de' ? 'Übersicht · Notes' : 'Overview · Notes')
      assert.equal(await page.evaluate('document.documentElement.dir'), locale === 'ar' ? 'rtl' : 'ltr')
      await page.evaluate(unfold)
      const sizes = { desktop, phone, narrow: { width: 320, height: 700 } }
      assert.deepEqual(await faultsInEveryLook(page, sizes), [])
    })
  }

  it('dims the ribbons of others while a person or a place is hovered or has the focus (R-PAGE-25)', async () => {
    const page = await visit()
    const all = await opacities(page)
    assert.deepEqual(new Set(Object.values(all as object)), new Set(['1']))
    await page.locator('.map a.p1').hover()
    const hovered = (await opacities(page)) as Record<string, string>
    assert.deepEqual(
      [hovered['p1'], new Set(Object.entries(hovered).flatMap(([name, value]) => (name === 'p1' ? [] : [value])))],
      ['1', new Set(['0.1'])],
    )
    await page.mouse.move(0, 0)
    await page.locator('.map a.p2').focus()
    // A focus by keyboard, because a browser shows no focus of a click.
    await page.keyboard.press('Shift+Tab')
    const focused = (await opacities(page)) as Record<string, string>
    assert.deepEqual([focused['p1'], focused['p0']], ['1', '0.1'])
    await page.locator('.map a.t0').hover()
    const [, toPlace] = (await page.evaluate(
      `['.t0', '.t1'].map((name) => getComputedStyle(document.querySelector('.map path' + name)).opacity)`,
    )) as string[]
    assert.equal(toPlace, '0.1')
  })

  it('leads the keyboard to each person and each property, and to their pages (R-LOOK-03)', async () => {
    const page = await visit()
    const names = (await page.evaluate(
      `[...document.querySelectorAll('.map a')].map((link) => link.textContent)`,
    )) as string[]
    assert.equal(names.length, 15)
    await page.locator('.map a').first().focus()
    const reached: unknown[] = []
    for (let step = 0; step < names.length; step++) {
      reached.push(await page.evaluate('document.activeElement.textContent'))
      await page.keyboard.press('Tab')
    }
    assert.deepEqual(reached, names)
    await page.locator('.map a.p0').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'A test client' }).waitFor()
  })

  it('has the ribbons of the picture as words in the table (R-PAGE-25)', async () => {
    const page = await visit('', { javaScriptEnabled: true })
    await page.getByText('Show as table').click()
    const drawn = (await page.evaluate(
      `[...document.querySelectorAll('.map path')].map((path) => [...path.classList].join(' '))`,
    )) as string[]
    const cells = (await page.evaluate(
      `[...document.querySelectorAll('.table tbody tr')].map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent))`,
    )) as string[][]
    const kinds: Readonly<Record<string, readonly string[]>> = {
      'No access': [],
      'In part': ['part'],
      View: ['view'],
      Edit: ['edit'],
      Run: ['run'],
      'Asks first': ['ask'],
      'Run, some ask first': ['run', 'ask'],
    }
    const expected = cells.flatMap((row, person) =>
      row.flatMap((word, place) => (kinds[word] ?? ['unknown']).map((kind) => `${kind} p${person} t${place}`)),
    )
    assert.deepEqual(drawn, expected)
    assert.deepEqual(
      [cells.length, new Set(cells.map((row) => row.length)), drawn.length > 20],
      [8, new Set([8]), true],
    )
  })

  for (const [dir, locale] of Object.entries({ ltr: 'en', rtl: 'ar' })) {
    it(`keeps every text inside its box, in ${dir} (R-LOOK-02)`, async () => {
      const page = await visit('', { locale })
      const texts =
        (await page.evaluate(`[...document.querySelectorAll('.map a > rect, .map g[class^=t] > rect')].flatMap((box) => {
        const { left, right } = box.getBoundingClientRect()
        return [...box.parentElement.querySelectorAll(':scope > text')].map((text) => {
          const shown = text.getBoundingClientRect()
          return [text.textContent, getComputedStyle(text).clipPath, shown.left >= left && shown.right <= right]
        })
      })`)) as readonly (readonly [text: string, clip: string, isInside: boolean])[]
      assert.deepEqual(new Set(texts.map(([, clip]) => clip)), new Set(['url("#map-box")']))
      assert.deepEqual(
        texts.filter(([, , isInside]) => !isInside).map(([text]) => text),
        [],
      )
    })
  }

  it('copies the address, and says so (R-PAGE-25)', async () => {
    const page = await visit()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const button = page.getByRole('button', { name: 'Copy Account URL' })
    await button.click()
    await page.getByRole('button', { name: 'Copied Account URL' }).waitFor()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), `${service.url}/${actor.id}`)
    await button.waitFor()
    assert.deepEqual(page.complaints, [])
  })

  it('shows the address without a button when scripts are off (R-LOOK-04)', async () => {
    const page = await visit('', { javaScriptEnabled: false })
    assert.equal(await page.getByText(`${service.url}/${actor.id}`, { exact: true }).isVisible(), true)
    assert.equal(await page.locator('[data-copy]').first().isVisible(), false)
  })
})
