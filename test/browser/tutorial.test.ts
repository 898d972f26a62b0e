import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { openPage, type WatchedPage } from '../support/browser.ts'
import { GuideReader } from '../support/guide-reader.ts'

const tutorial = readFileSync(join(dirname(dirname(import.meta.dirname)), 'docs', 'tutorial.md'), 'utf8')

describe('the tutorial', () => {
  const reader = new GuideReader(tutorial)
  after(() => reader.remove())
  let url = ''

  it('leads from an empty folder to a service in production', async () => {
    const passed: string[] = []
    let served = 0
    for (const step of reader.steps) {
      const { kind, text } = step
      if (kind === 'write') {
        reader.write(step)
      } else if (/^npx troupe (dev|serve) /.test(text)) {
        const program = reader.start(text, { PORT: '0' })
        const [, address = ''] = await program.prints(/ at (http:\/\/localhost:\d+)/)
        assert.equal((await fetch(`${address}/health/ready`)).status, 200)
        program.signal('SIGTERM')
        assert.equal((await program.ended).code, 0)
        served += 1
      } else if (!text.includes('npm install')) {
        const [, tests] = /^. pass (\d+)$/m.exec(await reader.run(text)) ?? []
        if (tests !== undefined) passed.push(tests)
      }
    }
    assert.deepEqual([passed, served], [['1', '2', '3', '4', '5'], 4])
    assert.equal(reader.compile(), '')
  })

  async function signIn(creator: string): Promise<WatchedPage> {
    const page = await openPage()
    await page.goto(url)
    await page.getByRole('link', { name: 'Continue as a test user' }).click()
    await page.getByLabel('Email').fill(creator)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL(/\/app$/)
    return page
  }

  const actorAt = (page: WatchedPage): string => page.url().replace(/\/app$/, '')

  it('shows one list to two users in their browsers, and what a device adds', async () => {
    const program = reader.place.start(['dev', 'household.ts'], {
      env: { PORT: '0', DATABASE_URL: 'sqlite:./browser.db' },
    })
    url = (await program.prints(/is ready at (http:\/\/localhost:\d+)/))[1] ?? ''
    const ada = await signIn('ada@example.com')
    const adasActor = actorAt(ada)
    await ada.getByLabel('What do we need?').fill('Milk')
    await ada.getByRole('button', { name: 'Add' }).click()
    await ada.getByText('Milk (ada@example.com)').waitFor()

    const ben = await signIn('ben@example.com')
    const bensActor = actorAt(ben)
    await ben.getByRole('link', { name: 'Housemates, assistants and activity' }).click()
    await ben.getByRole('link', { name: 'Connections' }).first().click()
    await ben.getByRole('link', { name: 'Connect with someone' }).first().click()
    await ben.getByLabel('Their account URL').fill(adasActor)
    await ben.getByLabel('Housemate').check()
    await ben.getByRole('button', { name: 'Review request' }).click()
    await ben.getByRole('button', { name: 'Send request' }).click()
    await ben.getByRole('status').getByText('Request sent').waitFor()

    const owner = await ada.context().newPage()
    await owner.goto(`${adasActor}/www/trust`)
    await owner.getByRole('link', { name: 'Review request' }).click()
    await owner.getByRole('button', { name: 'Approve', exact: true }).click()
    await owner.getByRole('status').getByText('Approved.').waitFor()

    await ben.goto(`${bensActor}/app`)
    await ben.getByText('Milk (ada@example.com)').waitFor()
    await ben.getByLabel('What do we need?').fill('Bread')
    await ben.getByRole('button', { name: 'Add' }).click()
    await ada.getByText('Bread (ben@example.com)').waitFor()
    await ada.getByRole('button', { name: 'Bought: Bread' }).click()
    await ben.getByText('Bread (ben@example.com)').waitFor({ state: 'detached' })

    await ada.getByRole('button', { name: 'Connect a device' }).click()
    const shown = await ada.getByText(/^.*Key of the device, shown once: trp_/).textContent()
    const headers = { authorization: `Bearer ${/trp_\w+/.exec(shown ?? '')?.[0]}` }
    const cream = {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{"text":"Cream"}',
    }
    assert.equal((await fetch(`${adasActor}/actions/add_item`, cream)).status, 200)
    await ada.getByText('Cream (ada@example.com)').waitFor()
    const receipt = {
      method: 'PUT',
      headers: { ...headers, 'content-type': 'image/jpeg' },
      body: 'the bytes of a photo',
    }
    assert.equal((await fetch(`${adasActor}/files/receipts/monday.jpg`, receipt)).status, 201)
    await owner.goto(`${adasActor}/www/files`)
    await owner.getByText('receipts/monday.jpg').first().waitFor()
    await owner.goto(`${adasActor}/www/apps`)
    await owner.getByText('Kitchen').first().waitFor()
    assert.deepEqual([ada.complaints, ben.complaints], [[], []])
  })
})
