/* cspell:ignore Bearbeiten Nach oben Verschoben Verschieben Abbrechen einer eine Liste Mehrere Elemente Element hinzufügen hinzugefügt Alle Geben zum Beispiel eins zwei drei oder Anfang eines Werts auswählen Auswahl löschen Eigenschaft Gelöscht */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { desktop, faultsInEveryLook, hasFocus, openPage, type WatchedPage, unfold } from '../support/browser.ts'
import { visitAsOwner } from '../support/owner-page.ts'
import { sqliteService, startService, type TestActor, type TestService } from '../support/service.ts'
import { createTestDatabase } from '../support/stores.ts'

const start = sqliteService()
let service: TestService

before(async () => {
  service = await start({
    listen: true,
    name: 'Notes',
    declare: (app) => app.property('fixed', { put: () => null }),
  })
})

async function furnished(): Promise<TestActor> {
  const actor = await service.createActor('ada@example.com')
  const properties = {
    color: 'blue',
    age: 36,
    fixed: 'cannot be changed',
    settings: { theme: 'dark', font: { size: 14, sizes: [1, 2, { deep: true }] }, empty: {}, none: null },
    notes: { _type: 'list', description: 'The notebook', explanation: 'One note each' },
    empty: { _type: 'list' },
  }
  assert.equal((await actor.request('POST', '/properties', properties)).status, 201)
  assert.equal((await actor.request('PUT', `/files/photos/${'long-name-'.repeat(12)}.txt`, 'x')).status, 201)
  const items = Array.from({ length: 60 }, (_, index) => ({ index, text: `Note ${index + 1}` }))
  assert.equal((await actor.request('POST', '/properties', { notes: { items } })).status, 201)
  return actor
}

function visit(actor: TestActor, path = '', options: BrowserContextOptions = {}): Promise<WatchedPage> {
  return visitAsOwner(service, actor, path, options)
}

const heading = (page: Page): Promise<string | null> => page.getByRole('heading', { level: 1 }).textContent()
const value = (page: Page) => page.getByRole('textbox', { name: 'Value', exact: true })

describe('the pages of an actor', () => {
  it('have no accessibility violation in any look, with every form unfolded (R-LOOK-01)', async () => {
    const actor = await furnished()
    const page = await visit(actor, '', { bypassCSP: true })
    for (const path of [
      '',
      '/init',
      '/properties',
      '/properties/color',
      '/properties/color?viewers=1',
      '/properties/fixed',
      '/properties/settings',
      '/properties/notes?page=2',
      '/properties/empty',
      '/properties/absent',
      '/files',
      '/files?after=z',
    ]) {
      await page.goto(`${service.url}/${actor.id}/www${path}`)
      await page.evaluate(unfold)
      assert.deepEqual(await faultsInEveryLook(page), [], path)
    }
    for (const link of ['Edit item 51', 'Delete item 60']) {
      await page.goto(`${service.url}/${actor.id}/www/properties/notes?page=2`)
      await page.getByRole('link', { name: link }).click()
      assert.deepEqual(await faultsInEveryLook(page), [], link)
    }
    await page.goto(`${service.url}/${actor.id}/www/properties/age`)
    await page.getByText('Edit', { exact: true }).click()
    await page.getByLabel('JSON', { exact: true }).check()
    await value(page).fill('{')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').waitFor()
    assert.deepEqual(await faultsInEveryLook(page), [])
    await value(page).fill('37')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('status').waitFor()
    assert.deepEqual(await faultsInEveryLook(page), [])
  })

  it('have landmarks, one main heading each, and a link that skips the navigation (R-LOOK-03)', async () => {
    const actor = await furnished()
    const page = await visit(actor)
    for (const [path, title] of [
      ['', 'Overview · Notes'],
      ['/properties', 'Properties · Notes'],
      ['/properties/color', 'color · Notes'],
      ['/init', 'Get started · Notes'],
    ] as const) {
      await page.goto(`${service.url}/${actor.id}/www${path}`)
      assert.equal(await page.title(), title)
      assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1)
      for (const role of ['banner', 'main'] as const) assert.equal(await page.getByRole(role).count(), 1)
      assert.equal(await page.getByRole('navigation', { name: 'Main' }).count(), 1)
      await page.keyboard.press('Tab')
      assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to content')
      await page.keyboard.press('Enter')
      assert.equal(await page.evaluate('document.activeElement.tagName'), 'MAIN')
    }
    const links = page.getByRole('navigation', { name: 'Main' }).getByRole('link')
    assert.deepEqual(await links.allTextContents(), [
      'Overview',
      'Requests',
      'Properties',
      'Files',
      'Connections',
      'Subscriptions',
      'Connected apps',
      'Activity',
      'Settings',
    ])
    await links.nth(2).click()
    assert.equal(await heading(page), 'Properties')
    assert.equal(await page.locator('[aria-current=page]').textContent(), 'Properties')
  })

  it('change a value in place, and confirm it once (R-PAGE-03)', async () => {
    const actor = await furnished()
    const page = await visit(actor, '/properties')
    await page.getByRole('link', { name: 'color' }).click()
    await page.getByText('Edit', { exact: true }).click()
    assert.equal(await value(page).inputValue(), 'blue')
    await value(page).fill('red\nand "green"')
    await page.getByRole('button', { name: 'Save' }).click()
    assert.equal(await page.getByRole('status').textContent(), 'Saved.')
    await hasFocus(page, '[role=status]')
    assert.equal(await page.locator('.value').innerText(), 'red\nand "green"')
    assert.equal(await (await actor.request('GET', '/properties/color')).text(), 'red\nand "green"')
    await page.reload()
    assert.equal(await page.getByRole('status').count(), 0)
    assert.deepEqual(page.complaints, [])
  })

  it('keep an invalid typed value, and focus the field with the reason (R-PAGE-02)', async () => {
    const actor = await furnished()
    const page = await visit(actor, '/properties/age')
    await page.getByText('Edit', { exact: true }).click()
    await page.getByLabel('JSON', { exact: true }).check()
    await value(page).fill('{"years":')
    await page.getByRole('button', { name: 'Save' }).click()
    assert.match((await page.getByRole('alert').textContent()) ?? '', /Invalid JSON at line 1, column 10\./)
    assert.match(await page.title(), /^Error: age/)
    await hasFocus(page, '#value')
    assert.equal(await value(page).getAttribute('aria-invalid'), 'true')
    assert.match((await page.locator('#value-error').textContent()) ?? '', /Invalid JSON at line 1, column 10\./)
    assert.equal(await value(page).getAttribute('aria-describedby'), 'value-error')
    assert.equal(await value(page).inputValue(), '{"years":')
    assert.equal(await (await actor.request('GET', '/properties/age')).text(), '36')
  })

  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? 'with JavaScript' : 'without JavaScript'
    it(`create, fill and delete a list ${how} (R-PAGE-08, R-LOOK-04)`, async () => {
      const actor = await furnished()
      const page = await visit(actor, '/properties', { javaScriptEnabled })
      await page.locator('summary', { hasText: 'List' }).click()
      const form = page.locator('form', { has: page.getByRole('button', { name: 'Create list' }) })
      await form.getByLabel('Name').fill('to do')
      await form.getByLabel('Description').fill('What waits')
      await page.getByRole('button', { name: 'Create list' }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Created.')
      await page.getByRole('link', { name: 'to do' }).click()
      for (const item of ['first', '{"second": 2}', 'third']) {
        await page.locator('summary', { hasText: 'Add item' }).click()
        await page.getByLabel('Item', { exact: true }).fill(item)
        if (item.startsWith('{')) await page.locator('#add').getByLabel('JSON', { exact: false }).last().check()
        await page.getByRole('button', { name: 'Add item', exact: true }).click()
        assert.equal(await page.getByRole('status').textContent(), 'Item added.')
      }
      await page.locator('summary', { hasText: 'Add several items' }).click()
      await page.getByLabel('Items', { exact: true }).fill('fourth\nfifth')
      await page.getByRole('button', { name: 'Add all' }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Items added.')
      for (const item of ['Delete item 5', 'Delete item 4']) {
        await page.getByRole('link', { name: item }).click()
        await page.getByRole('button', { name: item }).click()
        assert.equal(await page.getByRole('status').textContent(), 'Deleted.')
      }
      await page.getByRole('link', { name: 'Edit item 3' }).click()
      await page.getByRole('textbox', { name: 'Item 3' }).fill('last')
      await page.locator('#item-2').getByRole('button', { name: 'Save' }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Saved.')
      await page.getByRole('link', { name: 'Delete item 1' }).click()
      await page.getByRole('link', { name: 'Cancel' }).click()
      await page.getByRole('link', { name: 'Delete item 1' }).click()
      await page.getByRole('button', { name: 'Delete item 1' }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Deleted.')
      assert.deepEqual(await (await actor.request('GET', '/properties/to%20do')).json(), [{ second: 2 }, 'last'])
      await page.getByRole('link', { name: 'Edit item 2' }).click()
      await hasFocus(page, '#item-value-1')
      await page.getByRole('button', { name: 'Up' }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Moved.')
      await page.getByLabel('Position, from 1 to 2').fill('3')
      await page.getByRole('button', { name: 'Move' }).click()
      assert.equal(await page.locator('#position-error').textContent(), 'Enter a position in the list.')
      await hasFocus(page, '#position')
      await page.getByLabel('Position, from 1 to 2').fill('1')
      await page.getByLabel('Position, from 1 to 2').press('Enter')
      assert.equal(await page.getByRole('status').textContent(), 'Moved.')
      await page.getByRole('link', { name: 'Cancel' }).click()
      assert.deepEqual(await (await actor.request('GET', '/properties/to%20do')).json(), ['last', { second: 2 }])
      await page.getByRole('button', { name: 'Delete…' }).last().click()
      await page.getByRole('button', { name: 'Delete the list' }).click()
      assert.equal(await heading(page), 'Properties')
      assert.equal(await page.getByRole('link', { name: 'to do' }).count(), 0)
      assert.deepEqual(page.complaints, [
        'Failed to load resource: the server responded with a status of 400 (Bad Request)',
      ])
    })
  }

  it('fill, change and empty a list without JavaScript, in German (R-PAGE-08, R-LOOK-04)', async () => {
    const actor = await furnished()
    const page = await visit(actor, '/properties/empty', { javaScriptEnabled: false, locale: 'de-DE' })
    await page.locator('summary', { hasText: 'Mehrere Elemente hinzufügen' }).click()
    await page.getByLabel('Elemente', { exact: true }).fill('{"eins": 1}')
    await page.getByLabel('JSON-Array', { exact: true }).check()
    await page.getByRole('button', { name: 'Alle hinzufügen' }).click()
    await hasFocus(page, '#new-items')
    const reason = 'Geben Sie ein JSON-Array ein, zum Beispiel ["eins", "zwei"].'
    assert.equal(await page.locator('#new-items-error').textContent(), reason)
    assert.equal(await page.getByLabel('JSON-Array', { exact: true }).isChecked(), true)
    await page.getByLabel('Elemente', { exact: true }).fill('[{"eins": 1}, "zwei"]')
    await page.getByRole('button', { name: 'Alle hinzufügen' }).click()
    assert.equal(await page.getByRole('status').textContent(), 'Elemente hinzugefügt.')
    await page.locator('summary', { hasText: 'Element hinzufügen' }).first().click()
    await page.locator('#new-item').fill('drei')
    await page.getByRole('button', { name: 'Element hinzufügen', exact: true }).click()
    assert.equal(await page.getByRole('status').textContent(), 'Element hinzugefügt.')
    assert.deepEqual(await (await actor.request('GET', '/properties/empty')).json(), [{ eins: 1 }, 'zwei', 'drei'])
    await page.getByRole('link', { name: 'Bearbeiten (Element 3)' }).click()
    await page.getByRole('button', { name: 'Nach oben' }).click()
    assert.equal(await page.getByRole('status').textContent(), 'Verschoben.')
    await page.getByLabel('Position, von 1 bis 3').fill('4')
    await page.getByRole('button', { name: 'Verschieben' }).click()
    assert.equal(await page.locator('#position-error').textContent(), 'Geben Sie eine Position in der Liste ein.')
    await page.getByRole('link', { name: 'Abbrechen' }).click()
    assert.deepEqual(await (await actor.request('GET', '/properties/empty')).json(), [{ eins: 1 }, 'drei', 'zwei'])
    for (const left of [2, 1, 0]) {
      await page.locator('#item-0').getByRole('link', { name: 'Löschen' }).click()
      await page.getByRole('button', { name: 'Element 1 löschen' }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Gelöscht.')
      const stored = (await (await actor.request('GET', '/properties/empty')).json()) as unknown[]
      assert.equal(stored.length, left)
    }
  })

  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? 'with JavaScript' : 'without JavaScript'
    it(`store a number and a truth value by their own inputs ${how} (R-PAGE-06, R-LOOK-04)`, async () => {
      const actor = await furnished()
      const page = await visit(actor, '/properties', { javaScriptEnabled })
      await page.locator('summary', { hasText: 'Value' }).click()
      await page.getByLabel('Name', { exact: true }).first().fill('height')
      await page.getByLabel('Number', { exact: true }).check()
      assert.equal(await value(page).isVisible(), false)
      await page.getByLabel('Value, as a number').fill('1.70 m')
      await page.getByRole('button', { name: 'Create property' }).click()
      await hasFocus(page, '#new-value')
      assert.equal(await page.getByLabel('Value, as a number').inputValue(), '1.70 m')
      await page.getByLabel('Value, as a number').fill('1.70')
      await page.getByRole('button', { name: 'Create property' }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Created.')
      assert.equal(await (await actor.request('GET', '/properties/height')).text(), '1.70')
      await page.getByRole('link', { name: 'height' }).click()
      await page.getByText('Edit', { exact: true }).click()
      assert.equal(await page.getByLabel('Value, as a number').inputValue(), '1.70')
      await page.getByLabel('True or false', { exact: true }).check()
      await page.getByLabel('Value, true or false').selectOption('No')
      await page.getByRole('button', { name: 'Save' }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Saved.')
      assert.equal(await (await actor.request('GET', '/properties/height')).text(), 'false')
      assert.deepEqual(
        page.complaints.filter((each) => !each.includes('400')),
        [],
      )
    })
  }

  const searching = [
    {
      how: 'with JavaScript',
      options: {},
      words: {
        search: 'Name or beginning of a value',
        select: 'Select “color”',
        remove: 'Delete selected…',
        question: 'Delete 1 property',
        notice: 'Deleted.',
      },
    },
    {
      how: 'without JavaScript, in German',
      options: { javaScriptEnabled: false, locale: 'de-DE' },
      words: {
        search: 'Name oder Anfang eines Werts',
        select: '„color“ auswählen',
        remove: 'Auswahl löschen …',
        question: '1 Eigenschaft löschen',
        notice: 'Gelöscht.',
      },
    },
  ]
  for (const { how, options, words } of searching)
    it(`find a property and delete the selection ${how} (R-PAGE-05, R-LOOK-04)`, async () => {
      const actor = await furnished()
      const page = await visit(actor, '/properties', options)
      const names = page.locator('.properties tbody th')
      assert.ok((await names.count()) > 1)
      await page.getByRole('searchbox', { name: words.search }).fill('COL')
      await page.keyboard.press('Enter')
      await page.waitForURL(/q=COL/)
      assert.deepEqual(await names.allTextContents(), ['color'])
      await page.getByRole('checkbox', { name: words.select }).check()
      await page.getByRole('button', { name: words.remove }).click()
      assert.equal(await heading(page), words.question)
      assert.equal((await actor.request('GET', '/properties/color')).status, 200)
      await page.getByRole('button', { name: words.question }).click()
      assert.equal(await page.getByRole('status').textContent(), words.notice)
      assert.equal((await actor.request('GET', '/properties/color')).status, 404)
      assert.equal((await actor.request('GET', '/properties/age')).status, 200)
      assert.deepEqual(page.complaints, [])
    })

  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? 'with JavaScript' : 'without JavaScript'
    it(`store, download and delete a file ${how} (R-PAGE-29, R-LOOK-04)`, async () => {
      const actor = await service.createActor('ada@example.com')
      const page = await visit(actor, '/files', { javaScriptEnabled })
      assert.equal(await page.locator('.empty').textContent(), 'No files yet.')
      await page.getByText('Upload a file').click()
      const file = { name: 'Grüße.html', mimeType: 'text/html', buffer: Buffer.from('<script>alert(1)</script>') }
      await page.getByLabel('File', { exact: true }).setInputFiles(file)
      await page.getByRole('button', { name: 'Upload' }).click()
      assert.equal(await page.getByRole('status').textContent(), 'File uploaded.')
      const downloading = page.waitForEvent('download')
      await page.getByRole('link', { name: 'Grüße.html' }).click()
      const downloaded = await downloading
      assert.equal(downloaded.suggestedFilename(), 'Grüße.html')
      await page.getByRole('button', { name: 'Delete…' }).click()
      await page.getByRole('button', { name: 'Delete Grüße.html' }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Deleted.')
      assert.equal(await page.getByRole('link', { name: 'Grüße.html' }).count(), 0)
      assert.deepEqual(page.complaints, [])
    })
  }

  it('are fully usable by keyboard, with a visible focus at every step (R-LOOK-03)', async () => {
    const actor = await furnished()
    const page = await visit(actor, '/properties/color')
    const places: string[] = []
    for (let step = 0; step < 18; step += 1) {
      await page.keyboard.press('Tab')
      const [text, outline] = (await page.evaluate(
        '[document.activeElement.textContent.trim(), getComputedStyle(document.activeElement).outlineStyle]',
      )) as [string, string]
      places.push(text)
      assert.equal(outline, 'solid', text)
    }
    assert.deepEqual(places, [
      'Skip to content',
      'Notes',
      'Overview',
      'Requests',
      'Properties',
      'Files',
      'Connections',
      'Subscriptions',
      'Connected apps',
      'Activity',
      'Settings',
      'Sign out',
      'Properties',
      'History',
      'View JSON',
      'Edit',
      'For developers',
      'Delete…',
    ])
    // Returns to the form.
    for (let step = 0; step < 2; step += 1) await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    // Past the choice of the type.
    for (let step = 0; step < 2; step += 1) await page.keyboard.press('Tab')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('green')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('status').waitFor()
    assert.equal(await (await actor.request('GET', '/properties/color')).text(), 'green')
  })

  it('split a long list into pages (R-PAGE-08)', async () => {
    const actor = await furnished()
    const page = await visit(actor, '/properties/notes')
    const pager = page.getByRole('navigation', { name: 'Pagination' })
    assert.match((await pager.textContent()) ?? '', /Page 1 of 2/)
    assert.equal(await page.locator('.items tbody tr').count(), 50)
    await pager.getByRole('link', { name: 'Next' }).click()
    assert.equal(await page.locator('.items tbody tr').count(), 10)
    assert.match((await page.locator('.items tbody tr').first().innerText()) ?? '', /^Item 51\s*51\s+Note 51/)
    await page.getByRole('link', { name: 'Delete item 56' }).click()
    await page.getByRole('button', { name: 'Delete item 56' }).click()
    assert.match(page.url(), /\?page=2$/)
    assert.equal(await page.locator('.items tbody tr').count(), 9)
    await page.getByRole('navigation', { name: 'Pagination' }).getByRole('link', { name: 'Previous' }).click()
    assert.equal(await page.locator('.items tbody tr').count(), 50)
  })

  it('show a nested value as a tree (R-PAGE-07)', async () => {
    const actor = await furnished()
    const page = await visit(actor, '/properties/settings')
    assert.equal(
      await page.locator('.value').innerText(),
      ['theme: dark', 'font:', 'size: 14', 'sizes:', '1', '2', 'deep: true', 'empty: Empty object', 'none: null'].join(
        '\n',
      ),
    )
    assert.equal(await page.locator('.value .tree ul').count(), 3)
  })

  it('offer no form for a property that the application protects (R-PAGE-07)', async () => {
    const actor = await furnished()
    const page = await visit(actor, '/properties/fixed')
    assert.equal(await page.getByText('Edit', { exact: true }).count(), 0)
    assert.equal(await page.getByText('Managed by Notes; you can’t edit it.').count(), 1)
    await page.goto(`${service.url}/${actor.id}/www/properties`)
    assert.equal(await page.getByText('Text · Read-only').count(), 1)
  })

  it('report a missing page with a link to continue (R-PAGE-30)', async () => {
    const actor = await furnished()
    const page = await visit(actor, '/nothing')
    assert.equal(await heading(page), 'Not found')
    await page.getByRole('link', { name: 'Back to your account' }).click()
    assert.equal(new URL(page.url()).pathname, `/${actor.id}/www`)
    await page.goto(`${service.url}/unknown/nowhere`)
    // The front page redirects a signed-in user to the pages of the actor.
    await page.getByRole('link', { name: 'Go to home page' }).click()
    await page.waitForURL(`${service.url}/${actor.id}/www`)
  })

  it('load nothing from other hosts, and cause no complaint of the browser (R-LOOK-06, WEB-02)', async () => {
    const actor = await furnished()
    const page = await visit(actor)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    for (const path of ['', '/init', '/properties', '/properties/notes', '/properties/settings'])
      await page.goto(`${service.url}/${actor.id}/www${path}`)
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(`${service.url}/`)),
      [],
    )
    assert.deepEqual(page.complaints, [])
  })

  it('change nothing when a page of another site posts a form to them (WEB-04)', async () => {
    const actor = await furnished()
    const page = await visit(actor)
    // Another origin on the same machine, so the browser sends the session cookie with the form.
    const target = `${service.url}/${actor.id}/www/properties/color`
    const foreign = `<form method="post" action="${target}"><input name="value" value="stolen"><button>Win</button></form>`
    await page.route('http://localhost:1/**', (route) => route.fulfill({ contentType: 'text/html', body: foreign }))
    await page.goto('http://localhost:1/trap')
    const answer = page.waitForResponse((response) => response.request().method() === 'POST')
    await page.locator('button').click()
    // Without the cookie the form is unauthenticated; with the cookie it is a CSRF attempt.
    assert.ok([401, 403].includes((await answer).status()))
    assert.equal(await (await actor.request('GET', '/properties/color')).text(), 'blue')
  })
})

describe('a session in a browser', () => {
  it('begins at the sign-in page, shows the pages, and ends with one click (R-PAGE-01, R-WEB-04, R-OC-10)', async () => {
    const other = await createTestDatabase('sqlite')
    const local = await startService(other.url, { listen: true, host: 'localhost', name: 'Notes', localSignIn: true })
    try {
      const page = await openPage({ viewport: desktop })
      await page.goto(`${local.url}/login`)
      await page.getByRole('link', { name: 'Continue as a test user' }).click()
      await page.getByRole('button', { name: 'Sign in as Ada Lovelace' }).click()
      await page.waitForURL(/\/www$/)
      const address = page.url()
      assert.equal(await page.getByText('ada@example.com').first().isVisible(), true)
      const [session] = (await page.context().cookies()).filter(({ name }) => name === 'oauth_token')
      assert.deepEqual(
        [session?.httpOnly, session?.secure, session?.sameSite, session?.path],
        [true, false, 'Lax', '/'],
      )
      await page.goto(`${address}/properties`)
      await page.locator('summary', { hasText: 'Value' }).click()
      await page.getByLabel('Name').first().fill('color')
      await page.getByRole('textbox', { name: 'Value', exact: true }).fill('blue')
      await page.getByRole('button', { name: 'Create property' }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Created.')
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.waitForURL(`${local.url}/`)
      await page.goBack()
      await page.goto(`${address}/properties`)
      assert.equal(new URL(page.url()).pathname, '/login')
      // The session ended at the service, not only in this browser.
      const answer = await fetch(address, { headers: { cookie: `oauth_token=${session?.value}` }, redirect: 'manual' })
      assert.equal(answer.status, 401)
    } finally {
      await local.close()
      await other.remove()
    }
  })
})
