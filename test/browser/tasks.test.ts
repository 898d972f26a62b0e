/* cspell:ignore Wert Eigenschaft erstellen Erstellt Bearbeiten Speichern Gespeichert Mehrere hinzufügen Alle Elemente hinzugefügt Genehmigen Genehmigt möchte sich verbinden Zugriff auf Blockieren speichern Testperson fortfahren anmelden Einmal erlauben einen Aufruf genehmigt */
/** The tasks of an owner, with the clicks that each takes, in every language and with and without JavaScript. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Locator } from 'playwright-core'
import { openPage, type WatchedPage } from '../support/browser.ts'
import { relate } from '../support/friends.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { visitAsOwner } from '../support/owner-page.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

const words = {
  'en-US': {
    value: 'Value',
    name: 'Name',
    createValue: 'Create property',
    created: 'Created.',
    edit: 'Edit',
    save: 'Save',
    saved: 'Saved.',
    addSeveral: 'Add several items',
    addAll: 'Add all',
    added: 'Items added.',
    asks: /wants to connect$/,
    approve: 'Approve',
    approved: 'Approved.',
    editAccess: 'Edit access',
    access: 'Access to “color”',
    block: 'Block',
    saveAccess: 'Save access',
    signIn: 'Continue as a test user',
    person: 'Sign in as Ada Lovelace',
    allow: 'Allow once',
    allowed: 'Approved for one call.',
  },
  'de-DE': {
    value: 'Wert',
    name: 'Name',
    createValue: 'Eigenschaft erstellen',
    created: 'Erstellt.',
    edit: 'Bearbeiten',
    save: 'Speichern',
    saved: 'Gespeichert.',
    addSeveral: 'Mehrere Elemente hinzufügen',
    addAll: 'Alle hinzufügen',
    added: 'Elemente hinzugefügt.',
    asks: /möchte sich verbinden$/,
    approve: 'Genehmigen',
    approved: 'Genehmigt.',
    editAccess: 'Zugriff bearbeiten',
    access: 'Zugriff auf „color“',
    block: 'Blockieren',
    saveAccess: 'Zugriff speichern',
    signIn: 'Als Testperson fortfahren',
    person: 'Als Ada Lovelace anmelden',
    allow: 'Einmal erlauben',
    allowed: 'Für einen Aufruf genehmigt.',
  },
} as const

const begin = sqliteService()
let service: TestService

before(async () => {
  service = await begin({
    listen: true,
    name: 'Notes',
    localSignIn: true,
    activityPerActor: 1000,
    declare: (app) =>
      app.action(
        'send_letter',
        { description: 'Sends a letter', mcp: { title: 'Send a letter', confirm: 'owner' } },
        () => ({}),
      ),
  })
})

/** An owner who counts clicks. Typing, and choosing in a list, do not count. */
class Owner {
  readonly page: WatchedPage
  clicks = 0

  constructor(page: WatchedPage) {
    this.page = page
  }

  async click(target: Locator): Promise<void> {
    await target.click()
    this.clicks += 1
  }

  unfold(text: string): Promise<void> {
    return this.click(this.page.locator('summary', { hasText: text }).first())
  }

  press(role: 'button' | 'link', name: string | RegExp): Promise<void> {
    return this.click(this.page.getByRole(role, typeof name === 'string' ? { name, exact: true } : { name }))
  }

  type(label: string, text: string): Promise<void> {
    return this.page.getByRole('textbox', { name: label, exact: true }).fill(text)
  }

  async done(notice: string): Promise<number> {
    await this.page.getByRole('status').filter({ hasText: notice }).waitFor()
    assert.deepEqual(this.page.complaints, [])
    return this.clicks
  }
}

for (const [locale, word] of Object.entries(words)) {
  for (const javaScriptEnabled of [true, false]) {
    const options = { locale, javaScriptEnabled }
    const created = (): Promise<TestActor> => service.createActor(`ada${Math.random()}@example.com`)
    const at = async (actor: TestActor, path: string): Promise<Owner> =>
      new Owner(await visitAsOwner(service, actor, path, options))

    describe(`the clicks of an owner in ${locale}, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, () => {
      it('are 2 to create a value (R-LOOK-05)', async () => {
        const actor = await created()
        const owner = await at(actor, '/properties')
        await owner.unfold(word.value)
        await owner.type(word.name, 'color')
        await owner.type(word.value, 'blue')
        await owner.press('button', word.createValue)
        assert.equal(await owner.done(word.created), 2)
        assert.equal(await (await actor.request('GET', '/properties/color')).text(), 'blue')
      })

      it('are 2 to edit a value (R-LOOK-05)', async () => {
        const actor = await created()
        await actor.request('PUT', '/properties/color', 'blue')
        const owner = await at(actor, '/properties/color')
        await owner.unfold(word.edit)
        await owner.type(word.value, 'green')
        await owner.press('button', word.save)
        assert.equal(await owner.done(word.saved), 2)
        assert.equal(await (await actor.request('GET', '/properties/color')).text(), 'green')
      })

      it('are 2 to add three items (R-LOOK-05)', async () => {
        const actor = await created()
        await actor.request('POST', '/properties', { diary: { _type: 'list' } })
        const owner = await at(actor, '/properties/diary')
        await owner.unfold(word.addSeveral)
        await owner.page.locator('textarea[name="items"]').fill('A walk\nA dream\nA swim')
        await owner.press('button', word.addAll)
        assert.equal(await owner.done(word.added), 2)
        assert.deepEqual(await (await actor.request('GET', '/properties/diary')).json(), [
          'A walk',
          'A dream',
          'A swim',
        ])
      })

      it('are 2 to approve a connection (R-LOOK-05, R-TRUST-01)', async () => {
        const [actor, grace] = [await created(), await created()]
        await relate(grace, [service, actor], 'friend', false)
        const owner = await at(actor, '')
        await owner.press('link', word.asks)
        await owner.press('button', word.approve)
        assert.equal(await owner.done(word.approved), 2)
        const answer = await actor.request('GET', `/trust/friend/${grace.id}`)
        assert.equal(((await answer.json()) as { approved: boolean }).approved, true)
      })

      it('are 2 to hide one property from one peer (R-LOOK-05, R-PAGE-17, R-PERM-01)', async () => {
        const [actor, grace] = [await created(), await created()]
        await actor.request('PUT', '/properties/color', 'blue')
        const related = await relate(grace, [service, actor])
        assert.equal((await related.request('GET', '/properties/color')).status, 200)
        const owner = await at(actor, `/trust/${grace.id}`)
        await owner.press('link', word.editAccess)
        await owner.page.getByRole('combobox', { name: word.access }).selectOption(word.block)
        await owner.press('button', word.saveAccess)
        assert.equal(await owner.done(word.saved), 2)
        assert.equal((await related.request('GET', '/properties/color')).status, 403)
      })

      it('are 2 to allow a call from the chat, signed out, on the pages of the service (R-WEB-02)', async () => {
        const first = await openPage(options)
        await first.goto(service.url)
        await first.getByRole('link', { name: word.signIn }).click()
        await first.getByRole('button', { name: word.person }).click()
        await first.waitForURL(/\/www$/)
        const [, id = ''] = /\/([^/]+)\/www$/.exec(first.url()) ?? []
        const client = await authorizeClient(service, { id, creator: 'ada@example.com' })
        await client.modern('tools/call', { name: 'send_letter', arguments: {} })
        const { parts } = await service.app.running()
        const [waiting] = await parts.approvals.waiting(id)
        const owner = new Owner(await openPage(options))
        await owner.page.goto(`${service.url}/${id}/www/approvals/${waiting?.approvalId}`)
        await owner.press('link', word.signIn)
        await owner.page.getByRole('button', { name: word.person }).click()
        await owner.press('button', word.allow)
        assert.equal(await owner.done(word.allowed), 2)
      })
    })
  }
}
