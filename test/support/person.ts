/** A user who walks through the pages of services, in one of several ways. */
import assert from 'node:assert/strict'
import type { BrowserContextOptions, Locator } from 'playwright-core'
import {
  accessibilityViolations,
  colorRules,
  desktop,
  isTooWide,
  openPage,
  phone,
  type WatchedPage,
} from './browser.ts'
import { type Hands, keyboard, pointer } from './hands.ts'
import type { TestService } from './service.ts'

interface Way extends BrowserContextOptions {
  readonly hands?: Hands
}

/** A user with a separate browser. */
export class Person {
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

/** How users come to the pages. */
export const ways: Readonly<Record<string, Way>> = {
  'with a pointer': { bypassCSP: true },
  'with the keyboard alone': { hands: keyboard },
  'without JavaScript': { javaScriptEnabled: false },
  'on a phone in dark colors': { bypassCSP: true, viewport: phone, colorScheme: 'dark' },
}
