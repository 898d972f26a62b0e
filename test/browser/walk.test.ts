import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Person, ways } from '../support/person.ts'
import { sqliteService, type StartOptions, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const begin = sqliteService()

/** A service where users sign in locally. */
const start = (name: string, options: StartOptions = {}): Promise<TestService> =>
  begin({ listen: true, name, localSignIn: true, ...options })

const isReloaded = 'performance.getEntriesByType("navigation")[0].type === "reload"'

describe('a walk through the pages of two services', () => {
  for (const [how, way] of Object.entries(ways)) {
    it(`leads from the front page to the sign-out, ${how} (R-LOOK-04, R-OC-01, R-TOK-01)`, async () => {
      const notes = await start('Notes')
      const library = await start('Library')
      const ada = await Person.at(notes, way)
      await ada.signIn(null)

      // A value and a list with items, changed in place.
      await ada.goTo('Properties')
      await ada.unfold('Value')
      await ada.type('Name', 'color')
      await ada.type('Value', 'blue')
      await ada.press('button', 'Create property')
      await ada.reads('Created.')
      await ada.press('link', 'color')
      await ada.at('color')
      await ada.unfold('Edit')
      await ada.type('Value', 'green')
      await ada.press('button', 'Save')
      await ada.reads('Saved.')
      await ada.goTo('Properties')
      await ada.unfold('List')
      await ada.type('Name', 'diary')
      await ada.press('button', 'Create list')
      await ada.reads('Created.')
      await ada.press('link', 'diary')
      await ada.at('diary')
      for (const item of ['A walk', 'A dream']) {
        await ada.unfold('Add item')
        await ada.type('Item', item)
        await ada.press('button', 'Add item')
        await ada.reads('Item added.')
      }
      await ada.press('link', 'Edit item 2')
      await ada.type('Item 2', 'A good dream')
      await ada.hands.press(ada.page.locator('#item-1').getByRole('button', { name: 'Save' }))
      await ada.reads('Saved.')
      assert.match(await ada.text(), /A walk[^]*A good dream/)

      // A user of another service has a page open.
      const grace = await Person.at(library, { javaScriptEnabled: way.javaScriptEnabled ?? true })
      await grace.signIn('grace@example.org', 'Library')
      const address = await grace.page.locator('code').first().innerText()
      await grace.goTo('Properties')
      await grace.unfold('Value')
      await grace.type('Name', 'displayname')
      await grace.type('Value', 'Grace Hopper')
      await grace.press('button', 'Create property')
      await grace.reads('Created.')
      await grace.goTo('Connections')

      // Ada requests a relationship, and Grace approves it.
      await ada.goTo('Connections')
      await ada.press('link', 'Connect with someone')
      await ada.at('Connect with someone')
      await ada.type('Their account URL', address)
      await ada.hands.press(ada.page.getByRole('radio', { name: 'Friend' }))
      await ada.press('button', 'Review request')
      await ada.at('Review your request')
      await ada.press('button', 'Send request')
      await ada.reads('Request sent. You’ll see it here when they answer.')
      await ada.at('Connections')
      await grace.sees('1 pending request')
      await grace.hands.press(grace.page.getByRole('link', { name: 'Review request' }))
      await grace.press('button', 'Approve')
      await grace.reads('Approved.')
      await ada.sees('Connected')

      // Ada sees Grace's changes while the page is open.
      const graceAsPeer = ada.page.locator('.connections').getByRole('link', { name: 'Grace Hopper' })
      await ada.sees(graceAsPeer)
      await ada.hands.press(graceAsPeer)
      await ada.at('Grace Hopper')
      await ada.press('button', 'Subscribe')
      await ada.reads('Subscribed.')
      await ada.at('Grace Hopper · All properties')
      await grace.goTo('Properties')
      await grace.unfold('Value')
      await grace.type('Name', 'reading')
      await grace.type('Value', 'Emma, by Jane Austen')
      await grace.press('button', 'Create property')
      await grace.reads('Created.')
      if (way.javaScriptEnabled === false) await settled(library)
      await ada.sees('Emma, by Jane Austen')
      if (way.javaScriptEnabled !== false) assert.equal(await ada.page.evaluate(isReloaded), false)

      // The publisher's page shows a line for each sequence number.
      await grace.goTo('Subscriptions')
      await grace.hands.press(grace.page.locator('.row-head').getByRole('link').first())
      // Reloading before the new page has loaded would leave it.
      if (way.javaScriptEnabled === false) await grace.page.waitForURL(/\/www\/subscriptions\/./)
      await grace.sees('Delivered')
      assert.match(await grace.page.locator('.rail .when').first().innerText(), /^#1 · /)
      assert.equal(await grace.page.locator('.rail strong').first().innerText(), 'reading')

      // Restricts the rights of one peer, and previews the result.
      await ada.goTo('Connections')
      const peer = ada.page.locator('.connections').getByRole('link', { name: 'Grace Hopper' })
      await ada.sees(peer)
      await ada.hands.press(peer)
      await ada.press('link', 'View as Grace Hopper')
      await ada.at('Viewing as Grace Hopper')
      assert.match(await ada.text(), /color[^]*green[^]*diary[^]*A walk/)
      await ada.page.goBack()
      await ada.unfold('Advanced')
      await ada.unfold('Properties')
      await ada.hands.type(ada.page.locator('#properties-excluded_patterns'), 'diary')
      await ada.press('button', 'Preview changes')
      await ada.page.getByRole('heading', { name: 'Review changes' }).waitFor()
      assert.match(await ada.page.locator('#preview').innerText(), /Will lose\s+view “diary”/)
      await ada.at('Grace Hopper')
      await ada.press('button', 'Save changes')
      await ada.reads('Saved.')
      await ada.type('Name', 'diary')
      await ada.hands.press(ada.page.locator('#may-it').getByRole('button'))
      await ada.reads('Blocked. Grace Hopper can’t view “diary”. You block “diary”.')
      await ada.press('link', 'View as Grace Hopper')
      await ada.at('Viewing as Grace Hopper')
      assert.match(await ada.text(), /green/)
      assert.doesNotMatch(await ada.text(), /diary|A walk/)

      // Ends the relationship.
      await ada.page.goBack()
      await ada.press('button', 'Disconnect…')
      await ada.press('button', 'Disconnect Grace Hopper')
      await ada.reads('Disconnected.')
      assert.match(await ada.text(), /No connections yet/)
      await ada.goTo('Activity')

      // Ends another session of the same user.
      const elsewhere = await Person.at(notes, {})
      await elsewhere.signIn(null)
      await ada.goTo('Connected apps')
      await ada.hands.press(ada.page.locator('#sessions .rows').getByRole('button'))
      await ada.reads('Device signed out.')
      assert.equal(await ada.page.locator('#sessions .rows li').count(), 1)
      await elsewhere.page.reload()
      await elsewhere.at('Sign in to Notes')

      // After the sign-out, no private data is shown, not even by the back button.
      await ada.goTo('Properties')
      const url = ada.page.url()
      await ada.press('button', 'Sign out')
      await ada.at('Sign in to Notes')
      await ada.page.goBack()
      await ada.at('Sign in to Notes')
      assert.doesNotMatch(await ada.page.content(), /diary|green|ada@example\.com/)
      await ada.page.goto(url)
      await ada.at('Sign in to Notes')
      if (way.javaScriptEnabled !== false) await grace.sees('This was deleted.')
      // A page that refreshes just after its subject was deleted receives a 404.
      const isOfEnd = (complaint: string): boolean => complaint.includes('404')
      assert.deepEqual(
        [ada, grace].flatMap(({ page }) => page.complaints.filter((each) => !isOfEnd(each))),
        [],
      )
    })
  }
})

/** Waits until every pending callback was sent. */
async function settled(service: TestService): Promise<void> {
  const { store } = await service.app.running()
  const waiting = () => store.read((q) => q.all("SELECT 1 FROM delivery WHERE outcome = 'waiting'"))
  await until(async () => (await waiting()).length === 0)
}
