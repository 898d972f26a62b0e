import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import type { BrowserContextOptions, Locator } from 'playwright-core'
import { z } from 'zod'
import {
  accessibilityViolations,
  colorRules,
  desktop,
  isTooWide,
  openPage,
  phone,
  type WatchedPage,
} from '../support/browser.ts'
import { type Hands, keyboard, pointer } from '../support/hands.ts'
import { authorizePath, newPkce, registerClient, requestTokens } from '../support/oauth-client.ts'
import { sqliteService, type StartOptions, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

const programs: Server[] = []
const begin = sqliteService()

afterEach(() => {
  for (const program of programs.splice(0)) program.close()
})

/** A service where users sign in locally. */
const start = (name: string, options: StartOptions = {}): Promise<TestService> =>
  begin({ listen: true, name, localSignIn: true, ...options })

interface Way extends BrowserContextOptions {
  readonly hands?: Hands
}

/** A user with a separate browser. */
class Person {
  readonly page: WatchedPage
  readonly hands: Hands
  readonly #sees: boolean
  readonly #rules: readonly string[] | undefined
  readonly #live: boolean

  private constructor(page: WatchedPage, way: Way) {
    const { hands = pointer, javaScriptEnabled = true, bypassCSP = false, colorScheme } = way
    this.page = page
    this.hands = hands
    this.#sees = bypassCSP && javaScriptEnabled
    this.#rules = colorScheme === 'dark' ? colorRules : undefined
    this.#live = javaScriptEnabled
  }

  static async at(service: TestService, way: Way): Promise<Person> {
    const { hands: _hands, ...context } = way
    const page = await openPage({ viewport: desktop, ...context })
    await page.goto(service.url)
    return new Person(page, way)
  }

  async signIn(email: string | null, app = 'Notes'): Promise<void> {
    await this.at(`Sign in to ${app}`)
    await this.press('link', 'Continue as a test user')
    await this.at('Choose a test user')
    if (email === null) await this.press('button', 'Sign in as Ada Lovelace')
    else {
      await this.type('Email', email)
      await this.press('button', 'Sign in')
    }
    await this.at('Overview')
  }

  /** Waits for the page with this heading, and checks its layout and accessibility. */
  async at(title: string): Promise<void> {
    await this.page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
    assert.equal(await isTooWide(this.page), false, title)
    if (this.#sees) assert.deepEqual(await accessibilityViolations(this.page, this.#rules), [], title)
  }

  press(role: 'link' | 'button', name: string): Promise<void> {
    return this.hands.press(this.page.getByRole(role, { name, exact: true }))
  }

  /** Opens a section by the navigation. */
  async goTo(section: string): Promise<void> {
    const navigation = this.page.getByRole('navigation', { name: 'Main' })
    await this.hands.press(navigation.getByRole('link', { name: section }))
    await this.at(section)
  }

  /** Unfolds a collapsed section. */
  unfold(text: string): Promise<void> {
    return this.hands.press(this.page.locator('summary', { hasText: text }).first())
  }

  type(label: string, text: string): Promise<void> {
    return this.hands.type(this.page.getByRole('textbox', { name: label, exact: true }), text)
  }

  async reads(notice: string): Promise<void> {
    await this.page.getByRole('status').filter({ hasText: notice }).waitFor()
  }

  /** Waits for a change that happened elsewhere: live with scripts, otherwise by reloading. */
  async sees(what: string | Locator): Promise<void> {
    const seen = typeof what === 'string' ? this.page.locator('main').getByText(what).first() : what
    if (this.#live) return seen.waitFor()
    do await this.page.reload()
    while (!(await seen.isVisible()))
  }

  async text(): Promise<string> {
    return this.page.locator('main').innerText()
  }
}

const isReloaded = 'performance.getEntriesByType("navigation")[0].type === "reload"'

const ways: Readonly<Record<string, Way>> = {
  'with a pointer': { bypassCSP: true },
  'with the keyboard alone': { hands: keyboard },
  'without JavaScript': { javaScriptEnabled: false },
  'on a phone in dark colors': { bypassCSP: true, viewport: phone, colorScheme: 'dark' },
}

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

/** The redirect URI of a program on the user's own machine. */
async function waitingProgram(): Promise<string> {
  const page = '<!doctype html><html lang="en"><title>Back</title><main><h1>Back at the program</h1></main>'
  const server = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(page))
  programs.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/back`
}

describe('an AI client', () => {
  for (const [how, way] of Object.entries(ways)) {
    it(`is authorized, waits for approval, and is disconnected with one click, ${how} (R-OC-01, R-WEB-02)`, async () => {
      const notes = await start('Notes', {
        activityPerActor: 1000,
        declare: (app) =>
          app.action(
            'add_note',
            {
              description: 'Adds a note',
              input: z.object({ text: z.string() }),
              mcp: { name: 'create_note', title: 'Add a note', confirm: 'owner' },
            },
            async ({ actor, input }) => {
              await actor.set('note', input.text)
              return { added: input.text }
            },
          ),
      })
      const back = await waitingProgram()
      const client = await registerClient(notes, {
        client_name: 'Claude',
        redirect_uris: [back],
        token_endpoint_auth_method: 'none',
      })
      const pkce = newPkce()
      const ada = await Person.at(notes, way)
      await ada.page.goto(notes.url + authorizePath(client, pkce, { redirect_uri: back }))
      await ada.at('Claude wants to connect to your Notes account')
      await ada.press('button', 'Sign in with local sign-in to allow')
      await ada.at('Choose a test user')
      await ada.press('button', 'Sign in as Ada Lovelace')
      await ada.at('Back at the program')
      const answer = await requestTokens(notes, {
        grant_type: 'authorization_code',
        client_id: client.client_id,
        code: new URL(ada.page.url()).searchParams.get('code') ?? '',
        redirect_uri: back,
        code_verifier: pkce.verifier,
      })
      assert.equal(answer.status, 200)
      const { access_token: token, actor_id: id } = (await answer.json()) as { access_token: string; actor_id: string }

      const call = async (): Promise<{ status: number; said: string }> => {
        const sent = await notes.request('/mcp', {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            'mcp-protocol-version': '2025-11-25',
          },
          body: JSON.stringify({
            jsonrpc: '2.0',
            id: 1,
            method: 'tools/call',
            params: { name: 'create_note', arguments: { text: 'Buy a violin' } },
          }),
        })
        return { status: sent.status, said: await sent.text() }
      }
      assert.match((await call()).said, /\/www\/approvals\//)
      assert.equal(await (await notes.app.actors.get(id))?.get('note'), undefined)

      await ada.page.goto(`${notes.url}/${id}/www`)
      await ada.at('Overview')
      await ada.goTo('Connected apps')
      assert.match(await ada.text(), /Claude\s+Runs on this computer/)
      await ada.goTo('Requests')
      await ada.press('link', 'Claude wants to: Add a note')
      await ada.at('Claude wants to: Add a note')
      assert.match(await ada.text(), /text\s+"Buy a violin"/)
      await ada.press('button', 'Allow once')
      await ada.reads('Approved for one call.')
      assert.match((await call()).said, /"added":"Buy a violin"/)
      assert.equal(await (await notes.app.actors.get(id))?.get('note'), 'Buy a violin')
      // An approval is valid for one call.
      assert.match((await call()).said, /\/www\/approvals\//)

      await writtenAuditLog(notes)
      await ada.goTo('Activity')
      assert.match(await ada.text(), /Claude used the tool “create_note”/)
      await ada.goTo('Connected apps')
      await ada.press('button', 'Disconnect Claude')
      await ada.reads('App disconnected.')
      await ada.sees('No apps connected')
      assert.equal((await call()).status, 401)
      assert.deepEqual(ada.page.complaints, [])
    })
  }
})
