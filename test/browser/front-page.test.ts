/* cspell:ignore Referenz */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { BrowserContextOptions } from 'playwright-core'
import { desktop, faultsInEveryLook, hasFocus, openPage, type WatchedPage } from '../support/browser.ts'
import { onFreePort } from '../support/free-port.ts'
import { sqliteService, startService, type TestService } from '../support/service.ts'
import { createTestDatabase } from '../support/stores.ts'

const start = sqliteService()
let service: TestService

before(async () => {
  service = await start({
    listen: true,
    name: 'Notes',
    description: 'A notebook that belongs to you.',
    uniqueCreator: true,
  })
})

async function visit(options: BrowserContextOptions = {}, path = '/'): Promise<WatchedPage> {
  const page = await openPage({ viewport: desktop, ...options })
  await page.goto(service.url + path)
  return page
}

async function create(page: WatchedPage, creator: string): Promise<void> {
  await page.getByLabel('Email').fill(creator)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.waitForLoadState()
}

async function factsOf(page: WatchedPage): Promise<Record<string, string>> {
  const names = await page.locator('dl dt').allTextContents()
  const values = await page.locator('dl dd').allTextContents()
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
}

describe('the front page', () => {
  it('has no accessibility violation in any look, with its results and errors (R-ACT-01)', async () => {
    const page = await visit({ bypassCSP: true })
    assert.deepEqual(await faultsInEveryLook(page), [])
    await create(page, ' ')
    assert.equal(await page.getByRole('alert').textContent(), 'Enter your email address.')
    assert.deepEqual(await faultsInEveryLook(page), [])
    await create(page, 'ada-with-a-rather-long-name@example.com')
    assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Your account is ready')
    assert.deepEqual(await faultsInEveryLook(page), [])
  })

  it('follows the color scheme of the visitor’s system', async () => {
    const backgrounds: unknown[] = []
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await visit({ colorScheme })
      backgrounds.push(await page.evaluate('getComputedStyle(document.documentElement).backgroundColor'))
    }
    assert.deepEqual(backgrounds, ['rgb(247, 245, 242)', 'rgb(20, 19, 18)'])
  })

  it('shows the name and the description of the application', async () => {
    const page = await visit()
    assert.equal(await page.title(), 'Create your account · Notes')
    assert.equal(await page.locator('.lead').textContent(), 'A notebook that belongs to you.')
  })

  it('creates an actor with the keyboard alone, with a visible focus at every step (R-ACT-02)', async () => {
    const page = await visit()
    const places: unknown[] = []
    for (let step = 0; step < 4; step += 1) {
      await page.keyboard.press('Tab')
      places.push(
        await page.evaluate(
          'document.activeElement.tagName + " " + getComputedStyle(document.activeElement).outlineStyle',
        ),
      )
    }
    assert.deepEqual(places, ['A solid', 'A solid', 'INPUT solid', 'BUTTON solid'])
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.type('keys@example.com')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await page.getByRole('heading', { name: 'Your account is ready' }).waitFor()
    assert.equal((await factsOf(page))['Owner'], 'keys@example.com')
  })

  it('creates an actor without JavaScript (R-ACT-02)', async () => {
    const page = await visit({ javaScriptEnabled: false })
    await create(page, 'no-script@example.com')
    assert.equal((await factsOf(page))['Owner'], 'no-script@example.com')
  })

  it('shows an address, a creator and a passphrase that authenticate at the actor (R-ACT-02)', async () => {
    const page = await visit()
    await create(page, 'Ada@Example.com')
    const {
      'Account URL': address = '',
      Owner: owner = '',
      Passphrase: passphrase = '',
      ...others
    } = await factsOf(page)
    assert.deepEqual(others, {})
    assert.match(address, new RegExp(`^${service.url}/[0-9a-f]{32}$`))
    assert.equal(owner, 'ada@example.com')
    const answer = await fetch(address, {
      headers: { authorization: `Basic ${Buffer.from(`${owner}:${passphrase}`).toString('base64')}` },
    })
    assert.equal(answer.status, 200)
    assert.equal(((await answer.json()) as { creator: string }).creator, 'ada@example.com')
  })

  it('shows a command that a shell runs unchanged, whatever characters the address contains (R-ACT-02)', async () => {
    const page = await visit()
    await create(page, "o'brien+$HOME`id`@example.com")
    const command = (await page.locator('pre').textContent()) ?? ''
    const { stdout } = await promisify(execFile)('bash', ['-c', command.replace(/^curl/, 'curl --silent --include')])
    assert.match(stdout, /^HTTP\/1\.1 200 OK/)
  })

  it('reports that the creator already has an actor, keeps the typed value and focuses the field (R-ACT-03)', async () => {
    const first = await visit()
    await create(first, 'twice@example.com')
    const page = await visit()
    await create(page, 'twice@example.com')
    const field = page.getByLabel('Email')
    assert.equal(await page.getByRole('alert').textContent(), 'Cannot create an actor: this creator has one already')
    assert.equal(await field.inputValue(), 'twice@example.com')
    assert.equal(await field.getAttribute('aria-describedby'), await page.getByRole('alert').getAttribute('id'))
    await hasFocus(page, '#creator')
  })

  it('shows typed values as text, never as markup', async () => {
    const page = await visit()
    const typed = '"><script>window.intruder = 1</script><b>@example.com'
    await page.evaluate('document.querySelector("#creator").removeAttribute("maxlength")')
    await page.getByLabel('Email').fill(typed.padEnd(513, 'x'))
    await page.getByRole('button').click()
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByLabel('Email').inputValue(), typed.padEnd(513, 'x'))
    assert.equal(await page.locator('main b, main script').count(), 0)
    assert.equal(await page.evaluate('typeof window.intruder'), 'undefined')
  })

  it('causes no complaint of the browser, from the first visit to the actor', async () => {
    const page = await visit()
    await create(page, 'quiet@example.com')
    await page.getByRole('link', { name: 'Notes' }).click()
    await page.waitForLoadState('networkidle')
    assert.deepEqual(page.complaints, [])
  })

  it('runs only its own script files, and sends forms only to the service', async () => {
    const page = await visit()
    await page.evaluate(`{
      const script = document.createElement('script')
      script.textContent = 'window.intruder = 1'
      document.body.append(script)
      document.body.insertAdjacentHTML('beforeend', '<img src="/nowhere.svg" onerror="window.intruder = 2">')
      document.querySelector('form').action = 'http://127.0.0.1:9/'
    }`)
    await page.getByLabel('Email').fill('stolen@example.com')
    const refusal = page.waitForEvent('console', (message) => message.text().includes('form-action'))
    await page.evaluate("document.querySelector('form').requestSubmit()")
    await refusal
    assert.equal(await page.evaluate('typeof window.intruder'), 'undefined')
    assert.equal(page.url(), `${service.url}/`)
    const refused = page.complaints.filter((text) => text.includes('Content Security Policy directive'))
    for (const rule of [`script-src ${service.url}/assets/`, "form-action 'self'"]) {
      assert.ok(
        refused.some((text) => text.includes(rule)),
        rule,
      )
    }
  })

  it('finds its files and its form under a path prefix (R-ACT-10)', async () => {
    const other = await createTestDatabase('sqlite')
    const mounted = await onFreePort((port) =>
      startService(other.url, { listen: true, port, baseUrl: `http://127.0.0.1:${port}/under/here` }),
    )
    try {
      const page = await openPage({ viewport: desktop })
      await page.goto(mounted.url)
      await create(page, 'prefix@example.com')
      const { 'Account URL': address = '' } = await factsOf(page)
      assert.match(address, /\/under\/here\/[0-9a-f]{32}$/)
      assert.deepEqual(page.complaints, [])
    } finally {
      await mounted.close()
      await other.remove()
    }
  })
})

describe('the reference of the API', () => {
  it('has no accessibility violation in any look, and needs no script', async () => {
    const page = await visit({ bypassCSP: true, locale: 'de-DE' }, '/docs')
    assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'API-Referenz')
    assert.equal(await page.locator('script').count(), 0)
    await page.locator('#listActivity > summary').click()
    await page.locator('#putProperty > summary').click()
    assert.equal(await page.locator('#listActivity dt', { hasText: 'outcome' }).isVisible(), true)
    assert.deepEqual(await faultsInEveryLook(page), [])
  })
})
