import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { passkey } from '../../src/index.ts'
import { accessibilityViolations, isTooWide, phone, type WatchedPage } from '../support/browser.ts'
import { openDevice } from '../support/passkeys.ts'
import { sqliteService, type TestService } from '../support/service.ts'

const start = sqliteService()
let service: TestService
const grantType = 'urn:ietf:params:oauth:grant-type:device_code'

before(async () => {
  service = await start({ listen: true, host: 'localhost', name: 'Notes', signIn: [passkey()] })
})

async function post(path: string, fields: Record<string, string>): Promise<Record<string, string>> {
  const answer = await service.request(path, { method: 'POST', body: new URLSearchParams(fields) })
  return (await answer.json()) as Record<string, string>
}

async function assertReadable(page: WatchedPage): Promise<void> {
  assert.deepEqual(await accessibilityViolations(page), [])
  assert.equal(await isTooWide(page), false)
}

describe('the code of a device in a real browser', () => {
  it('connects the device after a sign-in with a passkey, and a wrong code does not', async () => {
    const registered = await service.request('/oauth/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client_name: 'Television',
        token_endpoint_auth_method: 'none',
        grant_types: [grantType, 'refresh_token'],
      }),
    })
    const { client_id: clientId = '' } = (await registered.json()) as { client_id?: string }
    const codes = await post('/oauth/device_authorization', { client_id: clientId })
    const { page } = await openDevice({ viewport: phone, bypassCSP: true })
    await page.goto(codes['verification_uri'] ?? '')
    await assertReadable(page)
    await page.getByLabel('Code on the device').fill('0000-0000')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('That code is wrong or has expired.').waitFor()
    await assertReadable(page)
    await page.goto(codes['verification_uri_complete'] ?? '')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Continue only if your own device shows this code right now.').waitFor()
    await assertReadable(page)
    await page.getByRole('button', { name: 'Sign in with Passkey to allow' }).click()
    await page.getByLabel('Your name').fill('Ada')
    await page.getByRole('button', { name: 'Create account with a passkey' }).click()
    await page.getByRole('link', { name: 'I saved them. Continue' }).click()
    await page.getByRole('heading', { name: 'Device connected' }).waitFor()
    await assertReadable(page)
    const tokens = await post('/oauth/token', {
      grant_type: grantType,
      client_id: clientId,
      device_code: codes['device_code'] ?? '',
    })
    const actor = await service.app.actors.findByCreator('Ada')
    assert.equal(tokens['actor_id'], actor?.id)
  })
})
