/** Passkeys from password managers and browsers that implement a part of WebAuthn only, in a real browser. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { passkey } from '../../src/index.ts'
import type { WatchedPage } from '../support/browser.ts'
import { openDevice } from '../support/passkeys.ts'
import { sqliteService, type TestService } from '../support/service.ts'

const start = sqliteService()
let service: TestService

before(async () => {
  service = await start({ listen: true, host: 'localhost', name: 'Notes', signIn: [passkey()] })
})

/** Scripts that give the page the objects of the product. The extension of a product wraps the functions in the same way. */
const products: Readonly<Record<string, string>> = {
  // 1Password: a copy with the prototype of the browser, whose functions throw “Illegal invocation”.
  '1Password': `wrap((real) => {
    const copy = Object.create(Object.getPrototypeOf(real))
    const response = Object.create(Object.getPrototypeOf(real.response))
    define(copy, { ...fields(real), response })
    define(response, fields(real.response))
    return copy
  })`,
  // Bitwarden: the same, with its own getTransports, and an empty public key.
  Bitwarden: `wrap((real) => {
    const copy = Object.create(Object.getPrototypeOf(real))
    const response = Object.create(Object.getPrototypeOf(real.response))
    define(copy, { ...fields(real), response, getClientExtensionResults: () => ({ credProps: { rk: true } }) })
    define(response, { ...fields(real.response), getTransports: () => ['internal'], getPublicKey: () => new ArrayBuffer(0) })
    return copy
  })`,
  // KeePassXC: plain objects, with views in place of buffers and without toJSON and getTransports.
  KeePassXC: `wrap((real) => {
    const views = Object.entries(fields(real.response)).map(([name, data]) => [name, view(data)])
    return { id: real.id, rawId: view(real.rawId), type: real.type, response: Object.fromEntries(views) }
  })`,
  // Proton Pass: functions that exist and return nothing.
  'Proton Pass': `wrap((real) => ({
    ...fields(real),
    authenticatorAttachment: 'cross-platform',
    response: { ...fields(real.response), getTransports: () => undefined, userHandle: real.response.userHandle },
    toJSON: undefined,
    getClientExtensionResults: () => { throw new TypeError('Not implemented') },
  }))`,
  'Safari 17': `for (const name of ['parseCreationOptionsFromJSON', 'parseRequestOptionsFromJSON']) delete PublicKeyCredential[name]
    delete PublicKeyCredential.prototype.toJSON`,
}

const helpers = `
  const define = (target, members) => {
    for (const [name, value] of Object.entries(members)) Object.defineProperty(target, name, { value })
  }
  const names = ['id', 'rawId', 'type', 'clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']
  const fields = (real) => Object.fromEntries(names.filter((name) => name in real).map((name) => [name, real[name]]))
  const view = (data) => {
    if (!(data instanceof ArrayBuffer)) return data
    const wide = new Uint8Array(data.byteLength + 16)
    wide.set(new Uint8Array(data), 8)
    return wide.subarray(8, 8 + data.byteLength)
  }
  const wrap = (change) => {
    for (const name of ['create', 'get']) {
      const real = navigator.credentials[name].bind(navigator.credentials)
      navigator.credentials[name] = async (options) => change(await real(options))
    }
  }
`

async function signUp(page: WatchedPage, name: string): Promise<void> {
  await page.goto(`${service.url}/login`)
  await page.getByRole('link', { name: 'Continue with Passkey' }).click()
  await page.getByLabel('Your name').fill(name)
  await page.getByRole('button', { name: 'Create account with a passkey' }).click()
  await page.getByRole('list', { name: 'Recovery codes' }).waitFor()
  await page.getByRole('link', { name: 'I saved them. Continue' }).click()
  await page.waitForURL(/\/www$/)
}

describe('a passkey of a password manager', () => {
  for (const [product, script] of Object.entries(products)) {
    it(`creates an account, signs in and is added to it, as ${product} returns it (IDP-27)`, async () => {
      const device = await openDevice()
      const { page } = device
      await page.addInitScript(`{${helpers}${script}}`)
      await signUp(page, `Ada of ${product}`)
      const first = page.url()
      // One attempt leaves one passkey.
      assert.equal((await device.passkeys()).length, 1)
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByText('You’ve been signed out.').waitFor()
      await page.goto(`${service.url}/login`)
      await page.getByRole('link', { name: 'Continue with Passkey' }).click()
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
      await page.waitForURL(/\/www$/)
      assert.equal(page.url(), first)
      // The device excludes the passkey that the account has, by its id.
      await page.goto(`${first}/passkeys`)
      await page.getByRole('button', { name: 'Add passkey' }).click()
      await page.getByText('This device already has a passkey').waitFor()
      assert.equal((await device.passkeys()).length, 1)
      assert.deepEqual(page.complaints, [])
    })
  }

  it('is not awaited from a browser without WebAuthn, which the page says (IDP-27)', async () => {
    for (const script of [
      `delete window.PublicKeyCredential`,
      `Object.defineProperty(navigator, 'credentials', { value: undefined })`,
    ]) {
      const { page } = await openDevice()
      await page.addInitScript(script)
      await page.goto(`${service.url}/login`)
      await page.getByRole('link', { name: 'Continue with Passkey' }).click()
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
      await page.getByText('doesn’t support passkeys').first().waitFor()
      assert.deepEqual(page.complaints, [])
    }
  })

  it('that is incomplete is refused, and the page stays as it is (IDP-27)', async () => {
    for (const broken of ['null', '{}', '{ rawId: new ArrayBuffer(4) }', '{ rawId: "text", response: {} }']) {
      const { page } = await openDevice()
      await page.addInitScript(`{${helpers}wrap(() => (${broken}))}`)
      await page.goto(`${service.url}/login`)
      await page.getByRole('link', { name: 'Continue with Passkey' }).click()
      const address = page.url()
      await page.getByLabel('Your name').fill('Grace')
      await page.getByRole('button', { name: 'Create account with a passkey' }).click()
      await page.getByText('The passkey didn’t work').first().waitFor()
      assert.equal(page.url(), address)
      assert.equal(await service.app.actors.findByCreator('Grace'), undefined)
    }
  })
})
