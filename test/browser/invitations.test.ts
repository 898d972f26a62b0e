/* cspell:ignore Widerrufen Einladung widerrufen Jemanden einladen Eigener erstellen Senden diesen jetzt Prüfen verbinden Eigenen geben speichern gesendet */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import { faultsInEveryLook, openPage, phone, type WatchedPage } from '../support/browser.ts'
import { visitAsOwner } from '../support/owner-page.ts'
import { readQr } from '../support/read-qr.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

const start = sqliteService()
let service: TestService

before(async () => {
  service = await start({ listen: true, host: 'localhost', name: 'Notes', localSignIn: true })
})

let people = 0

async function newOwner(): Promise<TestActor> {
  people += 1
  const owner = await service.createActor(`owner-${people}@example.com`)
  assert.equal((await owner.request('PUT', '/properties/displayname', '"Ada Lovelace"')).status, 204)
  return owner
}

async function createdLink(page: WatchedPage): Promise<string> {
  const link = await page.locator('#invitation-link').innerText()
  assert.equal(readQr(await page.content()), link)
  return link
}

/** Opens the link without a session, signs in as a new person, and connects. */
async function accept(link: string, options: BrowserContextOptions): Promise<void> {
  const page = await openPage({ viewport: phone, ...options })
  await page.goto(link)
  await page.getByRole('heading', { name: 'Ada Lovelace invites you to connect on Notes' }).waitFor()
  await page.getByRole('link', { name: 'Sign in to continue' }).click()
  await page.getByRole('link', { name: 'Continue as a test user' }).click()
  people += 1
  await page.getByLabel('Email').fill(`guest-${people}@example.com`)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('link', { name: 'Review and connect' }).click()
  await page.getByRole('heading', { name: 'Review your request' }).waitFor()
  await page.getByText('Ada Lovelace (localhost:').waitFor()
  await page.getByRole('button', { name: 'Send request' }).click()
  await page.getByRole('status').filter({ hasText: 'You’re connected.' }).waitFor()
  assert.deepEqual(page.complaints, [])
}

describe('an invitation, in a real browser', () => {
  for (const javaScriptEnabled of [true, false]) {
    it(`connects a person who had no account, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
      const owner = await newOwner()
      const page = await visitAsOwner(service, owner, '/trust', { javaScriptEnabled })
      await page.getByRole('link', { name: 'Invite someone' }).click()
      await page.getByRole('radio', { name: 'Friend' }).check()
      await page.getByLabel('Nickname').fill('Aunt Grace')
      await page.getByRole('button', { name: 'Create the link' }).click()
      await page.getByRole('heading', { name: 'Send this link now' }).waitFor()
      await accept(await createdLink(page), { javaScriptEnabled })
      await page.goto(`${service.url}/${owner.id}/www/trust`)
      await page.getByRole('link', { name: 'Aunt Grace' }).first().waitFor()
      await page.goto(`${service.url}/${owner.id}/www/trust/invite`)
      assert.equal(await page.getByRole('heading', { name: /open invitation/ }).count(), 0)
      assert.deepEqual(page.complaints, [])
    })
  }

  it('is created and revoked in German', async () => {
    const page = await visitAsOwner(service, await newOwner(), '/trust', { locale: 'de-DE' })
    await page.getByRole('link', { name: 'Jemanden einladen' }).click()
    await page.getByLabel('Eigener Name').fill('Oma')
    await page.getByRole('button', { name: 'Link erstellen' }).click()
    await page.getByRole('heading', { name: 'Senden Sie diesen Link jetzt' }).waitFor()
    const link = await createdLink(page)
    await page.getByRole('button', { name: /^Widerrufen ?: Oma$/ }).click()
    await page.getByRole('status').filter({ hasText: 'Einladung widerrufen.' }).waitFor()
    assert.equal((await fetch(link)).status, 404)
    assert.deepEqual(page.complaints, [])
  })

  it('keeps the form when the nickname is too long', async () => {
    const page = await visitAsOwner(service, await newOwner(), '/trust/invite')
    await page.getByRole('radio', { name: 'Partner' }).check()
    await page.evaluate('document.querySelector("#nickname").removeAttribute("maxlength")')
    await page.getByLabel('Nickname').fill('n'.repeat(81))
    await page.getByRole('button', { name: 'Create the link' }).click()
    await page.getByRole('link', { name: 'Use at most 80 characters.' }).waitFor()
    assert.equal(await page.getByRole('radio', { name: 'Partner' }).isChecked(), true)
    assert.equal(await page.getByLabel('Nickname').getAttribute('aria-invalid'), 'true')
  })

  it('has no accessibility violation in any look (R-LOOK-01)', async () => {
    const page = await visitAsOwner(service, await newOwner(), '/trust/invite', {
      bypassCSP: true,
    })
    await page.getByRole('button', { name: 'Create the link' }).click()
    await page.getByRole('heading', { name: 'Send this link now' }).waitFor()
    assert.deepEqual(await faultsInEveryLook(page), [])
    const guest = await openPage({ bypassCSP: true })
    await guest.goto(await createdLink(page))
    assert.deepEqual(await faultsInEveryLook(guest), [])
  })
})

describe('a nickname, in a real browser', () => {
  for (const javaScriptEnabled of [true, false]) {
    it(`replaces the name of a connection, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
      const [owner, peer] = [await newOwner(), await newOwner()]
      await owner.request('POST', '/trust', { url: `${service.url}/${peer.id}`, relationship: 'friend' })
      const page = await visitAsOwner(service, owner, `/trust/${peer.id}`, { javaScriptEnabled })
      await page.getByText('Add a nickname').click()
      await page.getByLabel('Nickname').fill('Aunt Grace')
      await page.getByRole('button', { name: 'Save the nickname' }).click()
      await page.getByRole('heading', { name: 'Aunt Grace', level: 1 }).waitFor()
      assert.deepEqual(page.complaints, [])
    })
  }
})
