/** The page of a sign-in with a passkey, as a browser without a device sees it. */
import assert from 'node:assert/strict'
import type { TestService } from './service.ts'
import { TestBrowser } from './sign-in.ts'
import type { SoftPasskey } from './soft-passkey.ts'

/** Reads an attribute or a field of a page. */
function unescaped(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&amp;', '&')
}

export class PasskeyPage {
  readonly browser: TestBrowser
  readonly html: string
  readonly status: number
  readonly #address: URL

  private constructor(browser: TestBrowser, address: URL, status: number, html: string) {
    this.browser = browser
    this.html = html
    this.status = status
    this.#address = address
  }

  /** @param begin Path that begins the sign-in. */
  static async open(service: TestService, begin = '/oauth/login/passkey', browser = new TestBrowser(service)) {
    const begun = await browser.get(begin)
    assert.equal(begun.status, 302)
    return PasskeyPage.at(new URL(begun.headers.get('location') ?? ''), browser)
  }

  static async at(address: URL, browser: TestBrowser): Promise<PasskeyPage> {
    const answer = await browser.get(address.href)
    return new PasskeyPage(browser, address, answer.status, await answer.text())
  }

  /** The options for the device, by the kind of form. Null: the page has no such form. */
  options(kind: 'get' | 'create'): string | null {
    const found = new RegExp(`data-passkey="${kind}" data-options="([^"]*)"`).exec(this.html)
    return found?.[1] === undefined ? null : unescaped(found[1])
  }

  /** Sends a form of the page. */
  send(action: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<Response> {
    const { searchParams } = this.#address
    const own = {
      state: searchParams.get('state') ?? '',
      code_challenge: searchParams.get('code_challenge') ?? '',
      action,
    }
    return this.browser.post('/oauth/passkey', { ...own, ...fields }, headers)
  }

  signIn(passkey: SoftPasskey, change: Parameters<SoftPasskey['get']>[2] = {}): Promise<Response> {
    const { origin } = new URL(this.browser.service.url)
    return this.send('sign_in', { response: passkey.get(this.options('get') ?? '', origin, change) })
  }

  signUp(passkey: SoftPasskey, owner: string, change: Parameters<SoftPasskey['create']>[2] = {}): Promise<Response> {
    const { origin } = new URL(this.browser.service.url)
    return this.send('sign_up', { owner, response: passkey.create(this.options('create') ?? '', origin, change) })
  }
}

/** The recovery codes on a page. */
export function codesIn(html: string): readonly string[] {
  return [...html.matchAll(/<li><code>([^<]+)<\/code>/g)].map(([, code = '']) => code)
}

/** The URL of the link that continues after the recovery codes. */
export function continueUrlIn(html: string): string {
  return unescaped(/<a class="button" href="([^"]+)"/.exec(html)?.[1] ?? '')
}

export interface SignedUp {
  readonly passkey: SoftPasskey
  readonly browser: TestBrowser
  readonly codes: readonly string[]
  /** The response of the callback. */
  readonly answer: Response
}

/** Creates an account, from the sign-in button to the response of the callback. */
export async function signUpWith(
  service: TestService,
  passkey: SoftPasskey,
  owner: string,
  begin?: string,
): Promise<SignedUp> {
  const page = await PasskeyPage.open(service, begin)
  const shown = await page.signUp(passkey, owner)
  assert.equal(shown.status, 200)
  const html = await shown.text()
  const answer = await page.browser.get(continueUrlIn(html))
  return { passkey, browser: page.browser, codes: codesIn(html), answer }
}

/** Signs in, from the sign-in button to the response of the callback. */
export async function signInWith(
  service: TestService,
  passkey: SoftPasskey,
  begin?: string,
  browser?: TestBrowser,
): Promise<Response> {
  const page = await PasskeyPage.open(service, begin, browser)
  const answer = await page.signIn(passkey)
  assert.equal(answer.status, 302)
  return page.browser.get(answer.headers.get('location') ?? '')
}
