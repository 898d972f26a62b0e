import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { accessibilityViolations, openPage, phone, type WatchedPage } from '../support/browser.ts'
import { Workplace } from '../support/program.ts'

const example = join(dirname(dirname(import.meta.dirname)), 'examples', 'household', 'app.ts')

describe('the page of the household example', () => {
  const place = new Workplace()
  let url = ''
  before(async () => {
    const built = spawnSync(process.execPath, ['--conditions=troupe-source', join(dirname(example), 'build.ts')])
    assert.equal(built.status, 0, String(built.stderr))
    const program = place.start(['dev', example], { env: { PORT: '0' } })
    url = (await program.prints(/is ready at (http:\/\/localhost:\d+)/))[1] ?? ''
  })
  after(() => place.remove())

  async function signIn(email: string): Promise<WatchedPage> {
    const page = await openPage({ viewport: phone, colorScheme: 'dark' })
    await page.goto(url)
    await page.getByRole('link', { name: 'Continue as a test user' }).click()
    await page.getByLabel('Email').fill(email)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL(/\/app$/)
    await page.getByText('0.00 of 500.00 spent').waitFor()
    return page
  }

  async function add(page: WatchedPage, text: string): Promise<void> {
    await page.getByLabel('What do we need?').fill(text)
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByRole('button', { name: text }).waitFor()
  }

  it('shows one list and one sum to two people, on phones with dark colors', async () => {
    const [ada, ben] = [await signIn('ada@example.com'), await signIn('ben@example.com')]
    await add(ada, 'Milk')
    await ben.getByRole('link', { name: 'Family and assistants' }).click()
    await ben.getByRole('link', { name: 'Connections' }).first().click()
    await ben.getByRole('link', { name: 'Connect with someone' }).first().click()
    await ben.getByLabel('Their account URL').fill(ada.url().replace(/\/app$/, ''))
    await ben.getByLabel('Family').check()
    await ben.getByRole('button', { name: 'Review request' }).click()
    await ben.getByRole('button', { name: 'Send request' }).click()
    await ben.getByRole('status').getByText('Request sent').waitFor()
    const owner = await ada.context().newPage()
    await owner.goto(ada.url().replace(/\/app$/, '/www/trust'))
    await owner.getByRole('link', { name: 'Review request' }).click()
    await owner.getByRole('button', { name: 'Approve', exact: true }).click()
    await owner.getByRole('status').getByText('Approved.').waitFor()
    await owner.close()

    await ben.goto(ben.url().replace(/\/www.*$/, '/app'))
    await ben.getByRole('button', { name: 'Milk ada@example.com' }).click()
    await ben.getByLabel('Price of “Milk”').fill('2.5')
    await ben.getByRole('button', { name: 'Save' }).click()
    await ada.getByText('2.50 of 1000.00 spent').waitFor()
    await ada.getByRole('button', { name: 'Milk' }).waitFor({ state: 'detached' })
    await add(ada, 'A birthday cake for Grandmother, not with nuts, and candles')
    assert.deepEqual(await accessibilityViolations(ada), [])
    assert.deepEqual([ada.complaints, ben.complaints], [[], []])
  })

  it('offers to change the budget after it has read the budget', async () => {
    const page = await signIn('joan@example.com')
    const held = Promise.withResolvers<void>()
    await page.route('**/properties/money', async (route) => {
      await held.promise
      await route.continue()
    })
    await page.reload()
    const change = page.getByRole('button', { name: 'Change my budget' })
    await change.waitFor()
    assert.equal(await change.getAttribute('disabled'), '')
    held.resolve()
    await change.click()
    await page.getByLabel('My budget').waitFor()
  })

  it('changes no budget that another window has changed', async () => {
    const page = await signIn('grace@example.com')
    await page.getByRole('button', { name: 'Change my budget' }).click()
    await page.getByLabel('My budget').fill('300')
    const other = await page.context().newPage()
    await other.goto(page.url())
    await other.getByRole('button', { name: 'Change my budget' }).click()
    await other.getByLabel('My budget').fill('400')
    await other.getByRole('button', { name: 'Save' }).click()
    await page.getByText('0.00 of 400.00 spent').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('status').getByText('Nothing was changed').waitFor()
    assert.equal(await page.getByText('0.00 of 400.00 spent').count(), 1)
  })

  it('leads a person without a session to the sign-in, and back', async () => {
    const open = await signIn('alan@example.com')
    const [context, address] = [open.context(), open.url()]
    // An open page notices the end of its session at any time, and would leave in the middle of a navigation.
    await open.close()
    await context.clearCookies()
    const page = await context.newPage()
    // The script of the page may leave the page before it has loaded.
    await page.goto(address, { waitUntil: 'commit' })
    await page.getByRole('link', { name: 'Continue as a test user' }).click()
    await page.getByLabel('Email').fill('alan@example.com')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('0.00 of 500.00 spent').waitFor()
  })
})
