/* cspell:ignore Zugriff auf Blockieren speichern Gespeichert Filtern Ergebnis Abgelehnt Anwenden exportieren Alle zeigen */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, describe, it } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { faultsInEveryLook, type WatchedPage, unfold } from '../support/browser.ts'
import { relate } from '../support/friends.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { visitAsOwner } from '../support/owner-page.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

const begin = sqliteService()
let service: TestService
/** The service of the peers, which appears as another host on the network. */
let elsewhere: TestService

before(async () => {
  const start = (name: string): Promise<TestService> =>
    begin({
      listen: true,
      name,
      activityPerActor: 1000,
      declare: (app) => {
        app.action(
          'send_letter',
          { description: 'Sends a letter', mcp: { title: 'Send a letter', confirm: 'owner' } },
          () => ({}),
        )
        app.method('get_weather', { description: 'The weather' }, () => ({}))
      },
    })
  service = await start('Notes')
  elsewhere = await start('Elsewhere')
})

function visit(actor: TestActor, path = '', options: BrowserContextOptions = {}): Promise<WatchedPage> {
  return visitAsOwner(service, actor, path, options)
}

async function open(page: Page, actor: TestActor, path: string): Promise<void> {
  await page.goto(`${service.url}/${actor.id}/www${path}`)
}

/** Opens the page of the actor, and waits until it has opened its stream and has refreshed itself once afterwards. */
async function openListening(page: Page, actor: TestActor, path: string): Promise<void> {
  // The page before has a stream and a refresh, too, whose responses may be late.
  await page.goto('about:blank')
  const stream = page.waitForResponse((answer) => answer.url().endsWith('/www/live'))
  const look = page.waitForResponse((answer) => answer.request().resourceType() === 'fetch')
  await open(page, actor, path)
  await stream
  await (await look).finished()
}

const said = (page: Page): Promise<string | null> => page.locator('body > p[aria-live]').textContent()

interface Furnished {
  readonly actor: TestActor
  readonly friend: TestActor
  readonly asking: TestActor
  readonly paths: readonly string[]
}

/** A word without spaces that is longer than any line. */
const long = `a${'_very'.repeat(40)}_long_name`

async function furnished(): Promise<Furnished> {
  const actor = await service.createActor(`ada${Math.random()}@example.com`)
  const friend = await elsewhere.createActor(`grace${Math.random()}@example.com`)
  const asking = await elsewhere.createActor(`alan${Math.random()}@example.com`)
  await friend.request('POST', '/properties', { displayname: 'Grace Hopper' })
  await actor.request('POST', '/properties', {
    color: 'blue',
    settings: { theme: 'dark' },
    notes: { _type: 'list' },
    [long]: 1,
  })
  await actor.request('POST', '/properties/notes', 'Milk')
  const related = await relate(friend, [service, actor])
  await relate(asking, [service, actor], 'associate', false)
  const wish = { peerid: actor.id, target: 'properties', granularity: 'high' }
  const subscribed = await friend.request('POST', '/subscriptions', wish)
  const subscription = subscribed.headers.get('location')?.split('/').at(-1)
  for (const color of ['red', 'green']) await actor.request('PUT', '/properties/color', color)
  await related.request('GET', '/properties/color')
  await related.request('GET', '/properties/private')
  const client = await authorizeClient(service, actor)
  await client.modern('tools/call', { name: 'send_letter', arguments: { to: 'Charles', copies: [1, { deep: true }] } })
  const { parts } = await service.app.running()
  await writtenAuditLog(service)
  const [approval] = await parts.approvals.waiting(actor.id)
  return {
    actor,
    friend,
    asking,
    paths: [
      '',
      '/trust',
      '/trust/new',
      `/trust/${friend.id}?ask=properties.delete&target=notes`,
      `/trust/${friend.id}?edit=access`,
      `/trust/${asking.id}`,
      `/trust/${encodeURIComponent(client.peerId)}`,
      `/trust/${friend.id}/view`,
      '/subscriptions',
      `/subscriptions/${friend.id}/${subscription}`,
      '/apps',
      '/requests',
      `/approvals/${approval?.approvalId}`,
      '/activity',
      `/activity?caller=${friend.id}`,
    ],
  }
}

/** The words of the filter in a language. */
const filters = {
  'en-US': {
    filter: 'Filter',
    outcome: 'Outcome',
    denied: 'Denied',
    apply: 'Apply',
    csv: 'Export as CSV',
    all: 'Show all',
  },
  'de-DE': {
    filter: 'Filtern',
    outcome: 'Ergebnis',
    denied: 'Abgelehnt',
    apply: 'Anwenden',
    csv: 'Als CSV exportieren',
    all: 'Alle zeigen',
  },
} as const

describe('the page of the activity', () => {
  for (const [locale, words] of Object.entries(filters)) {
    for (const javaScriptEnabled of [true, false]) {
      const how = javaScriptEnabled ? 'with JavaScript' : 'without JavaScript'
      it(`filters the entries and exports them, ${how} in ${locale} (R-PAGE-22, R-PAGE-23, R-LOOK-04)`, async () => {
        const actor = await service.createActor(`filter${Math.random()}@example.com`)
        const peer = await elsewhere.createActor(`reader${Math.random()}@example.com`)
        const related = await relate(peer, [service, actor])
        await related.request('GET', '/properties/color')
        await related.request('GET', '/properties/private')
        await writtenAuditLog(service)
        const page = await visit(actor, '/activity', { javaScriptEnabled, locale })
        assert.ok((await page.locator('.said').count()) > 1)
        await page.locator('summary', { hasText: words.filter }).click()
        await page.getByLabel(words.outcome).selectOption({ label: words.denied })
        await page.getByRole('button', { name: words.apply }).click()
        await page.waitForURL(/outcome=denied/)
        assert.equal(await page.locator('.said').count(), 1)
        const downloading = page.waitForEvent('download')
        await page.getByRole('link', { name: words.csv }).click()
        const downloaded = await downloading
        assert.equal(downloaded.suggestedFilename(), 'activity.csv')
        const lines = (await readFile(await downloaded.path(), 'utf8')).trimEnd().split('\r\n')
        assert.equal(lines.length, 2)
        assert.match(lines[1] ?? '', /,peer,.*,GET,\/properties\/private,refused,/)
        await page.getByRole('link', { name: words.all }).click()
        await page.waitForURL(/\/activity$/)
        assert.ok((await page.locator('.said').count()) > 1)
      })
    }
  }
})

describe('the pages of relationships', () => {
  it('have no accessibility violation in any look, with every form unfolded (R-LOOK-01)', async () => {
    const { actor, friend, paths } = await furnished()
    const page = await visit(actor, '', { bypassCSP: true })
    for (const path of paths) {
      const answer = await page.goto(`${service.url}/${actor.id}/www${path}`)
      assert.equal(answer?.status(), 200, path)
      await page.evaluate(unfold)
      assert.deepEqual(await faultsInEveryLook(page), [], path)
      assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, path)
    }
    await page.goto(`${service.url}/${actor.id}/www/trust/${friend.id}`)
    await page.evaluate(unfold)
    await page.locator('#properties-excluded_patterns').fill('color')
    await page.getByRole('button', { name: 'Preview changes' }).click()
    await page.getByRole('button', { name: 'Save changes' }).waitFor()
    assert.deepEqual(await faultsInEveryLook(page), [])
    assert.deepEqual(page.complaints, [])
  })

  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? 'with JavaScript' : 'without JavaScript'
    it(`approve a peer, restrict its rights after a preview, and end the relationship, ${how} (R-PAGE-13, R-PAGE-15, R-LOOK-04)`, async () => {
      const { actor, asking } = await furnished()
      const page = await visit(actor, '', { javaScriptEnabled })
      await page.getByRole('link', { name: /wants to connect$/ }).click()
      await page.getByRole('button', { name: 'Approve', exact: true }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Approved.')
      await page.getByText('Advanced', { exact: true }).click()
      await page.locator('summary', { hasText: 'Methods' }).click()
      await page.locator('#methods-denied').fill('get_weather')
      await page.getByRole('button', { name: 'Preview changes' }).click()
      assert.equal(await page.locator('#preview .dense').innerText(), 'call “get_weather”')
      const denied = async (): Promise<boolean> => {
        const rights = await actor.request('GET', `/trust/associate/${asking.id}/permissions`)
        return ((await rights.json()) as { methods: { denied: string[] } }).methods.denied.includes('get_weather')
      }
      assert.equal(await denied(), false)
      await page.getByRole('button', { name: 'Save changes' }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Saved.')
      assert.equal(await denied(), true)
      await page.getByLabel('Action', { exact: true }).selectOption('methods.call')
      await page.getByLabel('Name', { exact: true }).fill('get_weather')
      await page.getByRole('button', { name: 'Check', exact: true }).click()
      assert.match((await page.locator('.answer').textContent()) ?? '', /^Blocked\. .* can’t call “get_weather”\./)
      // The page may refresh itself while the user leaves, and would then receive a 404.
      assert.deepEqual(page.complaints, [])
      await page.getByRole('button', { name: 'Disconnect…' }).click()
      await page.getByRole('button', { name: /^Disconnect [^…]+$/ }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Disconnected.')
      assert.equal((await actor.request('GET', `/trust/associate/${asking.id}`)).status, 404)
    })
  }

  const hiding = [
    {
      how: 'with JavaScript',
      options: {},
      words: { edit: 'Edit access', choice: 'Access to “color”', block: 'Block', save: 'Save access', saved: 'Saved.' },
    },
    {
      how: 'without JavaScript, in German',
      options: { javaScriptEnabled: false, locale: 'de-DE' },
      words: {
        edit: 'Zugriff bearbeiten',
        choice: 'Zugriff auf „color“',
        block: 'Blockieren',
        save: 'Zugriff speichern',
        saved: 'Gespeichert.',
      },
    },
  ]
  for (const { how, options, words } of hiding)
    it(`hide one property from one peer in the access table, ${how} (R-PAGE-17, R-LOOK-04, R-PERM-01)`, async () => {
      const { actor, friend } = await furnished()
      assert.equal((await actor.request('PUT', '/properties/color', 'blue')).status, 204)
      const page = await visit(actor, `/trust/${friend.id}`, options)
      const row = page.locator('.access tbody tr', { has: page.getByRole('rowheader', { name: 'color', exact: true }) })
      assert.equal(await row.locator('td').first().getAttribute('class'), 'yes')
      await page.getByRole('link', { name: words.edit }).click()
      await page.getByRole('combobox', { name: words.choice }).selectOption(words.block)
      await page.getByRole('button', { name: words.save }).click()
      assert.equal(await page.getByRole('status').textContent(), words.saved)
      assert.equal(await row.locator('td.no').count(), 4)
      assert.equal(await page.locator('.access select').count(), 0)
      assert.deepEqual(page.complaints, [])
    })

  it('draw the relationships, and list the same states in words (R-PAGE-11)', async () => {
    const { actor } = await furnished()
    const page = await visit(actor, '/trust')
    assert.equal(await page.locator('.picture a').count(), 3)
    assert.deepEqual((await page.locator('.picture .standing').allTextContents()).toSorted(), [
      'Active',
      'Connected',
      'Pending',
    ])
    assert.equal(await page.locator('.picture').getAttribute('aria-hidden'), 'true')
    assert.deepEqual(
      (await page.locator('.connections .badge').allTextContents()).map((text) => text.trim()).toSorted(),
      ['Active', 'Connected', 'Pending'],
    )
    // The keyboard skips the picture.
    assert.equal(await page.locator('.picture a:not([tabindex="-1"])').count(), 0)
  })

  it('approve a call of an AI client from the overview, once (R-PAGE-21)', async () => {
    const { actor } = await furnished()
    const page = await visit(actor)
    await page.getByRole('link', { name: 'A test client requests your approval: Send a letter' }).click()
    assert.deepEqual(await page.locator('.arguments tr').allInnerTexts(), [
      'to\t\n"Charles"',
      'copies\t\n1\ndeep: true',
    ])
    await page.getByRole('button', { name: 'Allow once' }).click()
    assert.equal(await page.getByRole('status').textContent(), 'Approved for one call.')
    assert.equal(await page.getByRole('button', { name: 'Allow once' }).count(), 0)
    assert.match((await page.locator('main').textContent()) ?? '', /Approved\. Waiting for A test client to continue\./)
  })
})

describe('a page that is open during a change', () => {
  it('shows and announces a value that another client changes, without a reload (R-LIVE-03)', async () => {
    const { actor } = await furnished()
    const page = await visit(actor)
    await openListening(page, actor, '/properties/color')
    assert.equal(await page.locator('.value').innerText(), 'green')
    await actor.request('PUT', '/properties/color', 'violet')
    await page.locator('.value', { hasText: 'violet' }).waitFor()
    assert.equal(await said(page), 'color updated')
    assert.deepEqual(page.complaints, [])
  })

  it('shows the arrival of a callback from a peer at another service (R-LIVE-03, R-SUB-09)', async () => {
    const { actor, friend } = await furnished()
    await relate(actor, [elsewhere, friend])
    const subscribed = await actor.request('POST', '/subscriptions', {
      peerid: friend.id,
      target: 'properties',
      subtarget: 'mood',
      granularity: 'high',
    })
    assert.equal(subscribed.status, 204)
    const page = await visit(actor)
    await openListening(page, actor, '/subscriptions')
    const row = page.locator('.rows > li', { hasText: 'mood' })
    assert.match(await row.innerText(), /No updates yet/)
    await friend.request('PUT', '/properties/mood', 'curious')
    await page.locator('.rows > li', { hasText: '1 update ' }).and(row).waitFor()
    assert.match((await said(page)) ?? '', /Subscriptions updated/)
  })

  it('shows new waiting requests on the overview (R-LIVE-03)', async () => {
    const actor = await service.createActor(`ada${Math.random()}@example.com`)
    const page = await visit(actor)
    await openListening(page, actor, '')
    assert.equal(await page.getByText('Nothing is waiting for you.').count(), 1)
    const asking = await elsewhere.createActor(`alan${Math.random()}@example.com`)
    await relate(asking, [service, actor], 'friend', false)
    await page.locator('.badge', { hasText: '1 waiting' }).waitFor()
    assert.equal(await said(page), 'Connections updated')
    const client = await authorizeClient(service, actor)
    await client.modern('tools/call', { name: 'send_letter', arguments: {} })
    await page.locator('.badge', { hasText: '2 waiting' }).waitFor()
    await page.getByRole('link', { name: 'A test client requests your approval: Send a letter' }).waitFor()
  })

  it('does not take an attribute that a browser extension adds to a field for a change (R-LIVE-04)', async () => {
    const { actor } = await furnished()
    const page = await visit(actor)
    await openListening(page, actor, '/properties/color')
    await page.getByText('Edit', { exact: true }).click()
    await page.locator('#value').fill('half a sentence')
    await page.evaluate('document.querySelector("#value").setAttribute("data-manager", "on")')
    const before = await page.title()
    const asking = await elsewhere.createActor(`alan${Math.random()}@example.com`)
    await relate(asking, [service, actor], 'friend', false)
    await page.locator('title').filter({ hasNotText: before }).waitFor({ state: 'attached' })
    assert.equal(await page.locator('.stale').count(), 0)
    assert.equal(await page.locator('#value').inputValue(), 'half a sentence')
  })

  for (const javaScriptEnabled of [true, false])
    it(`ask in a popover before they disconnect, ${javaScriptEnabled ? 'with' : 'without'} JavaScript (R-PAGE-31, R-LOOK-04)`, async () => {
      const { actor, friend } = await furnished()
      const page = await visit(actor, `/trust/${friend.id}`, { javaScriptEnabled })
      const [asking, confirming] = [
        page.getByRole('button', { name: 'Pause access…' }),
        page.getByRole('button', { name: 'Pause access', exact: true }),
      ]
      assert.equal(await confirming.isVisible(), false)
      await asking.click()
      await confirming.waitFor()
      await page.keyboard.press('Escape')
      await confirming.waitFor({ state: 'hidden' })
      await asking.click()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await confirming.waitFor({ state: 'hidden' })
      const trust = await actor.request('GET', `/trust/friend/${friend.id}`)
      assert.equal(((await trust.json()) as { approved: boolean }).approved, true)
      await asking.click()
      await confirming.click()
      await page.getByRole('status').waitFor()
      const paused = await actor.request('GET', `/trust/friend/${friend.id}`)
      assert.equal(((await paused.json()) as { approved: boolean }).approved, false)
      assert.deepEqual(page.complaints, [])
    })

  it('keeps a question open when it refreshes (R-LIVE-04)', async () => {
    const { actor } = await furnished()
    const page = await visit(actor)
    await openListening(page, actor, '/properties/color')
    await page.getByRole('button', { name: 'Delete…' }).click()
    const cancel = page.getByRole('button', { name: 'Cancel' }).last()
    await cancel.focus()
    await actor.request('PUT', '/properties/color', 'violet')
    await page.locator('.value', { hasText: 'violet' }).waitFor({ state: 'attached' })
    assert.equal(await cancel.isVisible(), true)
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Cancel')
  })

  it('completes a click that began before a refresh (R-LIVE-04)', async () => {
    const { actor } = await furnished()
    const page = await visit(actor)
    await openListening(page, actor, '/properties/color')
    await page.getByRole('button', { name: 'Delete…' }).hover()
    await page.mouse.down()
    const refresh = page.waitForResponse((answer) => answer.request().resourceType() === 'fetch')
    await actor.request('PUT', '/properties/color', 'violet')
    await (await refresh).finished()
    // The script has read the response when another one has arrived.
    await page.evaluate('fetch("/health/live").then((answer) => answer.text())')
    await page.mouse.up()
    await page.getByRole('button', { name: 'Cancel' }).last().waitFor()
    await page.locator('.value', { hasText: 'violet' }).waitFor({ state: 'attached' })
    assert.deepEqual(page.complaints, [])
  })

  it('shows the newest of two refreshes whose responses change places (R-LIVE-03)', async () => {
    const { actor } = await furnished()
    const page = await visit(actor)
    await openListening(page, actor, '/properties/color')
    const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let refreshes = 0
    await page.route('**/www/properties/color', async (route) => {
      refreshes += 1
      const isFirst = refreshes === 1
      const response = await route.fetch()
      if (isFirst) {
        begun.resolve()
        await held.promise
      }
      await route.fulfill({ response })
    })
    await actor.request('PUT', '/properties/color', 'violet')
    await begun.promise
    await actor.request('PUT', '/properties/color', 'yellow')
    await page.locator('.value', { hasText: 'yellow' }).waitFor()
    const late = page.waitForResponse((answer) => answer.request().resourceType() === 'fetch')
    held.resolve()
    await (await late).finished()
    await page.evaluate('fetch("/health/live").then((answer) => answer.text())')
    assert.equal(await page.locator('.value').innerText(), 'yellow')
  })

  it('does not disturb typing, and keeps the focus and unfolded sections when it refreshes (R-LIVE-04)', async () => {
    const { actor } = await furnished()
    const page = await visit(actor)
    await openListening(page, actor, '/properties/color')
    await page.getByText('Edit', { exact: true }).click()
    await page.getByRole('button', { name: 'Delete…' }).focus()
    await actor.request('PUT', '/properties/color', 'violet')
    await page.locator('.value', { hasText: 'violet' }).waitFor()
    assert.equal(await page.evaluate('document.activeElement.textContent.trim()'), 'Delete…')
    const field = page.getByRole('textbox', { name: 'Value' })
    assert.equal(await field.isVisible(), true)
    await field.fill('half a sentence')
    await actor.request('PUT', '/properties/color', 'yellow')
    await page.locator('.stale').waitFor()
    assert.equal(await field.inputValue(), 'half a sentence')
    assert.equal(await page.locator('.value').innerText(), 'violet')
    assert.equal(await page.locator('.stale').count(), 1)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Choose which version to keep' }).waitFor()
    assert.equal(await (await actor.request('GET', '/properties/color')).text(), 'yellow')
    await page.getByRole('button', { name: 'Save mine' }).click()
    await page.getByRole('status').waitFor()
    assert.equal(await (await actor.request('GET', '/properties/color')).text(), 'half a sentence')
  })

  it('does not refresh the response to a form, with its typed values (R-LIVE-04)', async () => {
    const { actor, friend } = await furnished()
    const page = await visit(actor, '/properties/color')
    await page.getByText('Edit', { exact: true }).click()
    const field = page.getByRole('textbox', { name: 'Value' })
    await field.fill('{')
    await page.getByLabel('JSON', { exact: false }).check()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').waitFor()
    assert.equal(await page.locator('[data-live]').count(), 0)
    assert.equal(await field.inputValue(), '{')
    await open(page, actor, `/trust/${friend.id}`)
    assert.equal(await page.locator('[data-live]').count(), 1)
    await page.getByText('Advanced', { exact: true }).click()
    await page.getByRole('button', { name: 'Preview changes' }).click()
    await page.getByRole('button', { name: 'Save changes' }).waitFor()
    assert.equal(await page.locator('[data-live]').count(), 0)
  })

  it('reports that the session ended, and shows no further changes (R-LIVE-05, R-TOK-01)', async () => {
    const { actor } = await furnished()
    const page = await visit(actor)
    await openListening(page, actor, '/properties/color')
    const sessions = (await (await actor.request('GET', '/sessions')).json()) as { id: string }[]
    for (const { id } of sessions) await actor.request('DELETE', `/sessions/${id}`)
    await page.locator('.stale', { hasText: 'You’ve been signed out.' }).waitFor()
    await actor.request('PUT', '/properties/color', 'violet')
    assert.equal(await page.locator('.value').innerText(), 'green')
  })

  it('closes its stream when one of its forms is sent (R-LIVE-06)', async () => {
    const { actor } = await furnished()
    const page = await visit(actor)
    await openListening(page, actor, '/properties/color')
    const held = Promise.withResolvers<void>()
    await page.route('**/www/properties/color', async (route) => {
      if (route.request().method() === 'POST') await held.promise
      await route.continue()
    })
    await page.getByText('Edit', { exact: true }).click()
    await page.getByRole('textbox', { name: 'Value' }).fill('violet')
    const ended = page.waitForEvent('requestfailed', (request) => request.resourceType() === 'eventsource')
    await page.getByRole('button', { name: 'Save' }).click({ noWaitAfter: true })
    await ended
    held.resolve()
    assert.equal(await page.getByRole('status').textContent(), 'Saved.')
  })

  it('cancels its refresh when a form of the page is sent (R-LIVE-04)', async () => {
    const { actor } = await furnished()
    const page = await visit(actor)
    await openListening(page, actor, '/properties/color')
    const refreshes = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    await page.route('**/www/properties/color', async (route) => {
      if (route.request().resourceType() === 'fetch') {
        refreshes.resolve()
        return
      }
      if (route.request().method() === 'POST') await held.promise
      await route.continue()
    })
    await page.getByText('Edit', { exact: true }).click()
    await page.getByRole('textbox', { name: 'Value' }).fill('violet')
    await actor.request('PUT', '/properties/color', 'yellow')
    await refreshes.promise
    const canceled = page.waitForEvent('requestfailed', (request) => request.resourceType() === 'fetch')
    await page.getByRole('button', { name: 'Save' }).click({ noWaitAfter: true })
    await canceled
    held.resolve()
    await page.getByRole('heading', { name: 'Choose which version to keep' }).waitFor()
  })

  it('reports that its subject was deleted (R-LIVE-03)', async () => {
    const { actor } = await furnished()
    const page = await visit(actor)
    await openListening(page, actor, '/properties/color')
    await actor.request('DELETE', '/properties/color')
    await page.locator('.stale', { hasText: 'This was deleted.' }).waitFor()
  })

  it('shows changes at each poll when its stream is rejected, and backs off (R-LIVE-06)', async () => {
    const { actor } = await furnished()
    const page = await visit(actor)
    // The overview has a stream too. Its request could come late, and would be counted below.
    await page.goto('about:blank')
    // Without the pause, time also passes by itself, and a slow machine reaches the next request too early.
    await page.clock.install({ time: new Date('2026-01-01T00:00:00Z') })
    await page.clock.pauseAt(new Date('2026-01-01T00:01:00Z'))
    let asked = 0
    let isFull = true
    await page.route('**/www/live', async (route) => {
      asked += 1
      if (isFull) await route.fulfill({ status: 429, headers: { 'retry-after': '5' }, body: '{}' })
      else await route.continue()
    })
    /**
     * How many times the page requests its stream during `seconds`. Each step waits for the responses of the step before.
     */
    const pass = async (seconds: number, step: number): Promise<number> => {
      const before = asked
      for (let passed = 0; passed < seconds; passed += step) {
        await page.clock.runFor(1000 * step)
        await page.evaluate('fetch("/health/live").then((answer) => answer.text())')
      }
      return asked - before
    }
    const refused = page.waitForResponse((answer) => answer.url().endsWith('/www/live'))
    await open(page, actor, '/properties/color')
    await refused
    assert.equal(await pass(2, 1), 0)
    assert.equal(asked, 1)
    await actor.request('PUT', '/properties/color', 'violet')
    const each = [await pass(8, 1), await pass(15, 1), await pass(30, 1), await pass(60, 1), await pass(120, 1)]
    assert.deepEqual(each, [1, 1, 1, 1, 1])
    assert.equal(await page.locator('.value').innerText(), 'violet')
    // After 5, 10, 20, 40, 80 and 160 seconds, the page retries every five minutes.
    assert.deepEqual([await pass(240, 5), await pass(300, 5), await pass(300, 5)], [1, 1, 1])
    // The user returns to the page, which retries immediately and keeps its interval when that fails.
    const before = asked
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await pass(280, 5)
    assert.equal(asked - before, 1)
    isFull = false
    assert.equal(await pass(40, 5), 1)
    const requests = asked
    await actor.request('PUT', '/properties/color', 'orange')
    // The event may arrive late. The page then waits 150 ms of its own clock, which stands still between the steps.
    await until(
      async () => (await page.locator('.value').innerText()) === 'orange',
      () => page.clock.runFor(150),
    )
    assert.equal(asked, requests)
  })

  it('closes its stream while it is hidden (R-LIVE-06)', async () => {
    const { actor } = await furnished()
    const page = await visit(actor)
    await openListening(page, actor, '/properties/color')
    const hide = (hidden: boolean): string =>
      `Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} }); document.dispatchEvent(new Event('visibilitychange'))`
    const gone = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/www/live'))
    await page.evaluate(hide(true))
    await gone
    await actor.request('PUT', '/properties/color', 'violet')
    assert.equal(await page.locator('.value').innerText(), 'green')
    await page.evaluate(hide(false))
    await page.locator('.value', { hasText: 'violet' }).waitFor()
  })
})
