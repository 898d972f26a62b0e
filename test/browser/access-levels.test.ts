import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import { faultsInEveryLook, hasFocus, type WatchedPage } from '../support/browser.ts'
import { relate } from '../support/friends.ts'
import { visitAsOwner } from '../support/owner-page.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const begin = sqliteService()
let service: TestService

before(async () => {
  service = await begin({ listen: true, name: 'Notes', declare: (app) => app.action('clear_notes', {}, () => ({})) })
})

function visit(actor: TestActor, path = '', options: BrowserContextOptions = {}): Promise<WatchedPage> {
  return visitAsOwner(service, actor, path, options)
}

async function pair(): Promise<{ actor: TestActor; peer: TestActor }> {
  const actor = await service.createActor(`ada${Math.random()}@example.com`)
  const peer = await service.createActor(`grace${Math.random()}@example.com`)
  await actor.request('POST', '/properties', { color: 'blue', notes: { _type: 'list' } })
  return { actor, peer }
}

async function assertInOrder(page: WatchedPage): Promise<void> {
  assert.deepEqual(await faultsInEveryLook(page), [])
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1)
}

/** Complaints of the browser, except those about the status of a refused form. */
function unforeseen({ complaints }: WatchedPage): string[] {
  return complaints.filter((each) => !/^Failed to load resource: .* status of 400/.test(each))
}

async function untilConnected(actor: TestActor): Promise<void> {
  await until(async () => {
    const [trust] = (await (await actor.request('GET', '/trust')).json()) as Record<string, unknown>[]
    return trust?.['peer_approved'] === true
  })
}

describe('pages that grant access', () => {
  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? 'with JavaScript' : 'without JavaScript'
    it(`let the user review a request before it is sent, ${how}`, async () => {
      const { actor, peer } = await pair()
      const page = await visit(actor, '/trust/new', { javaScriptEnabled })
      assert.deepEqual(await page.locator('.level strong').allTextContents(), [
        'Associate',
        'Viewer',
        'Friend',
        'Partner',
      ])
      assert.equal(await page.getByRole('radio', { name: 'Associate' }).isChecked(), true)
      await page.getByLabel('Their account URL').fill(`${service.url}/${peer.id}`)
      await page.getByRole('radio', { name: 'Friend' }).check()
      await page.getByLabel('Message').fill('It is me')
      await page.getByRole('button', { name: 'Review request' }).click()
      assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Review your request')
      assert.match((await page.locator('main').textContent()) ?? '', /view 2 of your 2 properties: “color”, “notes”/)
      await page.getByRole('button', { name: 'Back' }).click()
      assert.equal(await page.getByRole('radio', { name: 'Friend' }).isChecked(), true)
      assert.equal(await page.getByLabel('Message').inputValue(), 'It is me')
      await page.getByRole('button', { name: 'Review request' }).click()
      await page.getByRole('button', { name: 'Send request' }).click()
      await page.getByRole('status').waitFor()
      const [trust] = (await (await peer.request('GET', '/trust')).json()) as Record<string, unknown>[]
      assert.deepEqual([trust?.['relationship'], trust?.['desc']], ['friend', 'It is me'])
      assert.deepEqual(unforeseen(page), [])
    })

    it(`require the typed name before an administrator is approved, ${how}`, async () => {
      const { actor, peer } = await pair()
      await relate(peer, [service, actor], 'admin', false)
      const page = await visit(actor, `/trust/${peer.id}`, { javaScriptEnabled })
      const name = (await page.getByRole('heading', { level: 1 }).textContent()) ?? ''
      const field = page.getByLabel('To confirm')
      await field.fill('someone')
      await page.getByRole('button', { name: 'Approve', exact: true }).click()
      await page.getByRole('alert').waitFor()
      assert.equal(await field.inputValue(), 'someone')
      assert.equal(await field.getAttribute('aria-invalid'), 'true')
      await hasFocus(page, '#confirmation')
      await field.fill(name)
      await page.getByRole('button', { name: 'Approve', exact: true }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Approved.')
      assert.deepEqual(unforeseen(page), [])
    })
  }

  it('have no accessibility violation in form, review and confirmation, in any look (R-LOOK-01)', async () => {
    const { actor, peer } = await pair()
    const page = await visit(actor, '/trust/new', { bypassCSP: true })
    await assertInOrder(page)
    await page.getByLabel('Their account URL').fill('http://')
    await page.getByRole('button', { name: 'Review request' }).click()
    await page.getByRole('alert').waitFor()
    await assertInOrder(page)
    await page.getByLabel('Their account URL').fill(`${service.url}/${peer.id}`)
    await page.getByRole('radio', { name: 'Partner' }).check()
    await page.getByRole('button', { name: 'Review request' }).click()
    await assertInOrder(page)
    await relate(actor, [service, peer])
    await untilConnected(actor)
    await page.goto(`${service.url}/${actor.id}/www/trust/${peer.id}`)
    await page.getByText('Change the access level').click()
    await assertInOrder(page)
    await page.getByRole('radio', { name: 'Administrator' }).check()
    await page.getByRole('button', { name: 'Review change' }).click()
    await page.getByLabel('To confirm').fill('no')
    await page.getByRole('button', { name: 'Send request' }).click()
    await page.getByRole('alert').waitFor()
    await assertInOrder(page)
    assert.deepEqual(unforeseen(page), [])
  })
})
