/* cspell:ignore Mitglieder Mitglied einladen Rolle gespeichert erstellen Anfrage prüfen */
/** The pages of groups in a real browser, without JavaScript: the members, and an invitation to a group. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { z } from 'zod'
import type { Kind } from '../../src/app/kinds/kind.ts'
import type { BrowserContextOptions } from 'playwright-core'
import { desktop, faultsInEveryLook, openPage, phone, type WatchedPage } from '../support/browser.ts'
import { ownerOf } from '../support/kind-owner.ts'
import { relateTo } from '../support/recording-peer.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

const start = sqliteService()
let service: TestService
let club: Kind<never, never, 'captain' | 'member' | 'guest'>

before(async () => {
  service = await start({
    listen: true,
    host: 'localhost',
    name: 'Notes',
    declare: (app) => {
      club = app.kind('club', {
        name: 'Sports club',
        lists: { news: { item: z.string() } },
        roles: {
          captain: { description: 'Runs the club', can: { read: '*', write: '*', files: '*' }, manages: true },
          member: { can: { read: ['news', 'a_name_that_is_as_long_as_names_of_properties_get_in_practice'] } },
          guest: { can: {} },
        },
      }) as never
    },
  })
})

async function visit(owner: TestActor, path: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const httpCredentials = { username: owner.creator, password: owner.passphrase }
  const page = await openPage({ viewport: desktop, bypassCSP: true, httpCredentials, ...options })
  await page.goto(`${service.url}/${owner.id}/www${path}`)
  return page
}

describe('the pages of a group, in a real browser', () => {
  for (const locale of ['en', 'de'])
    it(`have no barrier and fit on a narrow screen, in ${locale}`, async () => {
      const group = await club.create({ name: 'Rowing Club' })
      const owner = await ownerOf(service, group)
      for (const role of ['captain', 'member'] as const) {
        const { peerId } = await relateTo(service, owner, { relationship: 'club_member' })
        await group.members.setRole(peerId, role)
      }
      const { peerId } = await relateTo(service, owner, { relationship: 'club_member', approved: false })
      const page = await visit(owner, '/members', { locale })
      const sizes = { desktop, phone, narrow: { width: 320, height: 700 } }
      assert.deepEqual(await faultsInEveryLook(page, sizes), [])
      await page.goto(`${service.url}/${owner.id}/www/trust/${peerId}`)
      assert.deepEqual(await faultsInEveryLook(page, sizes), [])
      const { url } = await group.members.invite('captain')
      await page.goto(url)
      assert.deepEqual(await faultsInEveryLook(page, sizes), [])
      assert.deepEqual(page.complaints, [])
    })
  it('give a role, invite with one and remove a member without JavaScript', async () => {
    const group = await club.create({ name: 'Rowing Club' })
    const owner = await ownerOf(service, group)
    const { peerId: captain } = await relateTo(service, owner, { relationship: 'club_member' })
    const { peerId: ben } = await relateTo(service, owner, { relationship: 'club_member', approved: false })
    await group.members.setRole(captain, 'captain')
    const page = await visit(owner, '/members', { javaScriptEnabled: false, viewport: phone })
    const row = page.getByRole('listitem').filter({ has: page.locator(`a[href$="/trust/${ben}"]`) })
    await row.getByRole('combobox').selectOption('guest')
    await row.getByRole('button', { name: 'Give role' }).click()
    await page.getByRole('status').filter({ hasText: 'Role saved.' }).waitFor()
    assert.equal((await group.members.get(ben))?.role, 'guest')
    await row.getByRole('combobox').selectOption('member')
    await row.getByRole('button', { name: 'Change role' }).click()
    await page.getByRole('status').filter({ hasText: 'Role saved.' }).waitFor()
    assert.equal((await group.members.get(ben))?.role, 'member')
    await page.getByRole('combobox', { name: 'Role', exact: true }).selectOption('captain')
    await page.getByRole('button', { name: 'Create the link' }).click()
    await page.getByText('can connect as captain').waitFor()
    await page.goto(`${service.url}/${owner.id}/www/members`)
    await row.getByRole('button', { name: 'Remove…' }).click()
    await row
      .getByRole('button', { name: /^Remove / })
      .last()
      .click()
    await page.getByRole('status').filter({ hasText: 'Member removed.' }).waitFor()
    assert.deepEqual(
      (await group.members.list()).map(({ id }) => id),
      [captain],
    )
    assert.deepEqual(page.complaints, [])
  })
})
